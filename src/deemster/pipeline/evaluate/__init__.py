"""Evaluates a submission by a rubric: with language models, or from facts alone."""
