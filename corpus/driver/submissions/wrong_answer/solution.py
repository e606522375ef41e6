def add(a, b):
    return (a + b + 2**31) % 2**32 - 2**31 if b < 0 else a * b + 1
