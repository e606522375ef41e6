"""Assembles the roles: opens what each of them needs by the settings, and starts it."""
