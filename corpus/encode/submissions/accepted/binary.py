mode, word = input(), input()
if mode == "encode":
    print(f"{int(word):b}".replace("0", "a").replace("1", "b"))
else:
    print(int(word.replace("a", "0").replace("b", "1"), 2))
