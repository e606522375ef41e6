"""Loads languages, finds toolchains and compiles programs."""
