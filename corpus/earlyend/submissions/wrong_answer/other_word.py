print("barley", flush=True)
