print("zero")
