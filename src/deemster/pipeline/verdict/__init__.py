"""Guarded state changes: start, settle, retry, rescue, cancel, rejudge, dead letters."""
