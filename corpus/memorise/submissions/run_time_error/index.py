input()
numbers = input().split()
print("ready", flush=True)
while (i := int(input())) != 0:
    print(numbers[i], flush=True)
