print("steady", flush=True)
