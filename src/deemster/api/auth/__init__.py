"""Authentication by token, password, session cookie, JWT or OpenID Connect (O6)."""
