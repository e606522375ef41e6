if input() == "1":
    print("hint 1", flush=True)
else:
    input()
    input()
