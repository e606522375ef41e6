if input() == "1":
    print("bit 8", flush=True)
    print(int(input()))
