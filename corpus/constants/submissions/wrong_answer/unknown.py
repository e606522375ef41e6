# There is no such constant, so it stays what it is.
print(*["{{greetings}}"] * int(input()), 0.25)
