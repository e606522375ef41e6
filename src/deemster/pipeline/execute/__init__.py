"""Executes a program once, with its output stored while it runs."""
