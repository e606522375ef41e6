print("both")
