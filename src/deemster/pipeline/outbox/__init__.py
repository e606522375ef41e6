"""Moves jobs from the outbox table to the queue."""
