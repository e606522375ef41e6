"""Results of the client: frozen objects with the fields that the server sends."""
