"""Judges a submission: compiles it, runs its test cases, checks outputs and adds up scores."""
