# The program failed before the validator could: that goes first.
print("crash", flush=True)
raise SystemExit(1)
