"""Caches of the API's responses and of values that change seldom."""
