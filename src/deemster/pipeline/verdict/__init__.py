"""The guarded writes: start, settle, retry, rescue, rejudge, cancel."""
