"""Similarity of programs, by winnowing over their tokens."""
