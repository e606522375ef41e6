puts ("x" * (1 << 40)).size
