"""The HTTP API: its routes and models, and what routes and web pages share."""
