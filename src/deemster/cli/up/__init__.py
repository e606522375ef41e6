"""`deemster up`: starts the whole service on this machine and supervises it."""
