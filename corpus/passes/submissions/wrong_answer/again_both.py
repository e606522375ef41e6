print("again" if input() == "1" else "both")
