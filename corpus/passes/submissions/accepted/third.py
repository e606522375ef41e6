print("third" if input() == "3" else "again")
