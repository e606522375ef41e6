# The same word twice in the first case, one good word in the second.
n = int(input())
print("a" * n)
if n == 1:
    print("a")
