"""Rules: X5 X7
Attack: allocates memory and ignores the error, again and again.
Expect: memory_limit
Limits: memory_bytes=64MiB
"""

print("started", flush=True)
blocks: list[bytes] = []
while len(blocks) < 1024:
    try:
        blocks.append(b"x" * (1 << 20))
    except MemoryError:
        continue
print("got through: 1 GiB")
