input()
numbers = input().split()
print("ready", flush=True)
while (i := int(input())) != 0:
    print(numbers[i - 1], flush=True)
