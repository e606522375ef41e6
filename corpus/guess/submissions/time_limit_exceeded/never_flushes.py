low, high, answer = 1, 1000, ""
while answer != "correct":
    guess = (low + high) // 2
    print(guess)
    answer = open(0, closefd=False).readline().strip()
    if answer == "lower":
        high = guess - 1
    else:
        low = guess + 1
