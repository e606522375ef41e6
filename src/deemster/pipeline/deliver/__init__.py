"""Delivers webhooks when a submission has ended, also as Judge0 and heng do (H2, H3)."""
