# Takes all that the interactor has to say.
import sys

print("flood", flush=True)
for _ in sys.stdin:
    pass
