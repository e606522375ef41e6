import sys

with open(sys.argv[1]) as file:
    n = int(file.read())
if sys.argv[4:] != ["{{greeting}}", "{{fraction}}"] or n > {{most}}:
    sys.exit(1)
words = sys.stdin.read().split()
sys.exit(42 if words == ["hello"] * n + ["0.25"] else 43)
