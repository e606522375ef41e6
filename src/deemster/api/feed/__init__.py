"""Event streams: one reader of the database serves all subscribers of this process."""
