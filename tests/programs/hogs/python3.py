parts: list[list[int]] = []
while True:
    parts.append([len(parts)] * 1000)
