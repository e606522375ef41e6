"""Imports class lists: reads CSV, adds the accounts, and writes their log-ins."""
