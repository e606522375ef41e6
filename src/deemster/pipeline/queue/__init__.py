"""The job queue: BullMQ on Postgres or Redis; jobs carry only ids."""
