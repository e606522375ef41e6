#!/usr/bin/env python3
import os
import sys

with open(sys.argv[1]) as file:
    amount = int(file.read())
coins = sys.stdin.read().split()
if not set(coins) <= {"1", "5", "10"} or sum(map(int, coins)) != amount:
    sys.exit(43)
with open(os.path.join(sys.argv[3], "score.txt"), "w") as file:
    file.write(str(len(coins)))
sys.exit(42)
