print("broken")
