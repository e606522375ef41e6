print("wait", flush=True)
input()
input()
