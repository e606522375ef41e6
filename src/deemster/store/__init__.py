"""Stores everything that must not be lost: rows in Postgres, and large artifacts."""
