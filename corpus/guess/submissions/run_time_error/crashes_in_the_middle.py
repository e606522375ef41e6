for guess in (500, 250, 750):
    print(guess, flush=True)
    answer = input()
    if answer == "correct":
        break
raise RuntimeError("lost")
