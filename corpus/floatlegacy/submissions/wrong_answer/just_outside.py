print(f"{float(input()) ** 0.5 + 0.0011:.9f}")
