"""Accepts submissions: checks a request and writes it so that it cannot be lost."""
