"""Runs jobs: takes them from the queue, judges them and records their results."""
