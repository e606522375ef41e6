print("third")
