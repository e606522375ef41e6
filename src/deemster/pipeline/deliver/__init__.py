"""Delivers webhooks when a submission has ended (H2, H3)."""
