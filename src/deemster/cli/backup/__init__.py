"""`deemster backup` and `deemster restore`: everything that is kept, as one file (O5)."""
