input()
numbers = input().split() * 2
print("ready", flush=True)
while (i := int(input())) != 0:
    print(numbers[i], flush=True)
