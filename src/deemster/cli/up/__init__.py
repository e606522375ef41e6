"""`deemster up`: everything on this machine, watched over by one process."""
