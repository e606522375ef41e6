print("stop")
