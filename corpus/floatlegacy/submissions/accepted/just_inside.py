print(f"{float(input()) ** 0.5 + 0.0009:.9f}")
