low, high, answer = 1, 100, ""
while answer != "=":
    guess = (low + high) // 2
    print("?", guess, flush=True)
    answer = input()
    if answer == "<":
        high = guess - 1
    else:
        low = guess + 1
