"""Generates load on a private service that a benchmark starts for itself."""
