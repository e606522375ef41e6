"""Drives the runner: what to run, the boxes to run it in, and what came of it."""
