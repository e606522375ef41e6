print("beautiful")
