print("anything")
