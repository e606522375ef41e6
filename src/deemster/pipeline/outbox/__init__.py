"""From the database to the queue."""
