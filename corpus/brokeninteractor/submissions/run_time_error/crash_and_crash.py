# The interactor crashes first, and the program for want of an answer.
print("crash", flush=True)
print(input())
