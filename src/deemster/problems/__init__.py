"""Reads problem packages of all formats and keeps them as revisions."""
