n = int(input())
print(int(n**0.5), 0)
