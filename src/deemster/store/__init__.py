"""Postgres, which holds the truth, and where large artifacts lie."""
