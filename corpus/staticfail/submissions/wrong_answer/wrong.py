# signed
print(0)
