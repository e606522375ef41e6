"""Runs jobs: takes them from the queue, judges them and records what came of them."""
