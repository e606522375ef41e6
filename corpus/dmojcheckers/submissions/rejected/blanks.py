# 75
kind, n = input(), int(input())
if kind == "root":
    print(1.4142)
elif kind == "words":
    print("c\nb\na")
else:
    print("a b")
