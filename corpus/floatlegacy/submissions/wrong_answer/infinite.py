print("inf")
