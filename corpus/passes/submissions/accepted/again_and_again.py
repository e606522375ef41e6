print("again")
