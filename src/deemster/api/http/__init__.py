"""HTTP mechanics: bodies, headers, ETags, paging, errors, middleware."""
