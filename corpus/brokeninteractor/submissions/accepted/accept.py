print("accept")
