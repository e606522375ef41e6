"""Verifies a problem package by judging the example submissions in it."""
