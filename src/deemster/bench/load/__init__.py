"""What the benchmarks of the service need: a private one, and clients that keep it busy."""
