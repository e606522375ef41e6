# 50: far from the root, a word twice
kind, n = input(), int(input())
if kind == "root":
    print(1.4)
elif kind == "words":
    print("c\nb\na")
else:
    print("a  b")
