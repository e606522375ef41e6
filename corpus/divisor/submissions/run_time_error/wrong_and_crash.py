print(1, flush=True)
raise SystemExit(43)
