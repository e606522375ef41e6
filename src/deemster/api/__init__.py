"""The HTTP API: what programs and people ask of the service, and what they are answered."""
