"""Benchmarks and load generators: they measure and return figures, `deemster bench` prints."""
