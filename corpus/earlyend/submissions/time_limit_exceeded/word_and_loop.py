print(input(), flush=True)
while True:
    pass
