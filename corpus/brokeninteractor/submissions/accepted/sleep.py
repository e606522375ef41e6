print("sleep")
