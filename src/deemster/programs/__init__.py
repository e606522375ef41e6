"""Compiles programs in the languages that are installed, and runs them in the sandbox."""
