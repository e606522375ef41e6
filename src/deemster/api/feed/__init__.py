"""How soon people hear of it: one look at the database for all who listen in this process."""
