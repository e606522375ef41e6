import sys

print("0 0")
sys.exit(1)
