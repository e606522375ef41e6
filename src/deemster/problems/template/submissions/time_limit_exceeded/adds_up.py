total = 0
for i in range(1, int(input()) + 1):
    total += i
print(total)
