print("? 50", flush=True)
if input() != "=":
    raise RuntimeError
