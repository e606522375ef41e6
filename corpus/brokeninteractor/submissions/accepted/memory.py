print("memory", flush=True)
input()
