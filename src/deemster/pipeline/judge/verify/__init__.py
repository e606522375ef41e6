"""Verifies a problem package by judging the submissions that it carries."""
