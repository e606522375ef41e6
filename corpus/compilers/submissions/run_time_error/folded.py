# Syntactically right, and found only when it runs.
print(inptu())
