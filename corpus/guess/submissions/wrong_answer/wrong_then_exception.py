# The interactor rejects the guess, and the program stumbles over its silence.
print(5000, flush=True)
print(int(input()), flush=True)
