mode, word = input(), input()
if mode == "encode":
    print("a")
