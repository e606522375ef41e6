"""Lets the service run as a user of its own, without the privileges of root (X11)."""
