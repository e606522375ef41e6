print("killed")
