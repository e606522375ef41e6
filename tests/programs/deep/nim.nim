proc depth(n: int): int =
  if n == 0: 0 else: 1 + depth(n - 1)

echo depth(1000000)
