"""`deemster submit`: a client of a running service."""
