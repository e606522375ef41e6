"""Readers of problem packages, one package for each format."""
