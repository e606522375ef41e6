print("xyz")
