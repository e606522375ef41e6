"""Converts TeX statements to Markdown."""
