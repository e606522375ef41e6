"""`./dev screenshots`: pictures of the pages, from a fresh service with sample data."""
