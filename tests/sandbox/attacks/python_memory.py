"""Rules: X5 X7
Attack: takes memory and catches the error, again and again.
Expect: memory_limit
Limits: memory_bytes=64MiB
"""

print("started", flush=True)
hoard: list[bytes] = []
while len(hoard) < 1024:
    try:
        hoard.append(b"x" * (1 << 20))
    except MemoryError:
        continue
print("got through: 1 GiB")
