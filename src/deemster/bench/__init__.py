"""Benchmarks and load generators behind `deemster bench`."""
