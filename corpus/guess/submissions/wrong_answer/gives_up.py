# Ends well after three guesses.
for guess in (500, 250, 750):
    print(guess, flush=True)
    if input() == "correct":
        break
