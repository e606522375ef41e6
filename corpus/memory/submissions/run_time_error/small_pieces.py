n = int(input())
memory = []
while len(memory) < n * 16000:
    memory.append([len(memory)])
print(n)
