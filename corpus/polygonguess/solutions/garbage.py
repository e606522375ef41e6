print("it is 50", flush=True)
