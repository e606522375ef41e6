"""The `deemster` command: parses arguments, calls the packages below, and prints."""
