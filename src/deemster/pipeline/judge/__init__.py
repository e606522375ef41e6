"""Compiles and runs programs in the cage."""
