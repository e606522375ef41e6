import os
import sys

code, *rest = sys.stdin.read().split()
for name, content in zip(rest[::2], rest[1::2]):
    with open(os.path.join(sys.argv[3], name), "w") as file:
        file.write(content.replace("_", " ") + "\n")
sys.exit(int(code))
