"""The road from the outbox to the workers: BullMQ on Postgres or Redis, and nothing but ids."""
