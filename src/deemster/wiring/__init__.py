"""Joins settings and rooms: what a command or a role opens before it works."""
