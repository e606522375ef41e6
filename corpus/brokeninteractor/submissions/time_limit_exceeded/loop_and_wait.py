# Waits for an interactor that will never answer, for it is busy with itself.
print("loop", flush=True)
input()
