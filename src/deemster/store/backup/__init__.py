"""Writes and restores backups of the database, the artifacts and the secret key."""
