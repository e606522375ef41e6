print(input()[:3], end="")
