"""Webhooks: who asked for it is told when a submission has ended (H2, H3, I3)."""
