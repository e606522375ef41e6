if input() == "2":
    raise SystemExit(2)
print("again")
