# Finds it in the end; the checker counts.
guess, answer = 20, ""
while answer != "=":
    print("?", guess, flush=True)
    answer = input()
    guess += 1 if answer == ">" else -1
