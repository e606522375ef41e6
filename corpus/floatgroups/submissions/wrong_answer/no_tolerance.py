# The last group has flags of its own, and no tolerance among them: 3.0 isn't 3.
print(int(input()) / 3)
