"""Problem packages: formats in, revisions of test data."""
