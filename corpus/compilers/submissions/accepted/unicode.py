# Größe, 漢字, and names of them.
größe = input()
print(größe)
