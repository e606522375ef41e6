for line in open(0):
    print(line.strip())
