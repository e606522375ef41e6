"""Writes the database and the artifacts into one backup file, and restores them."""
