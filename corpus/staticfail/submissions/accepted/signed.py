# signed
print(input())
