"""Who asks: by a token, by a log-in, or by another issuer's word (O6)."""
