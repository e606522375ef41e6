input()
numbers = input().split()
input()
print("ready", flush=True)
