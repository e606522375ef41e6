print(f"{float(input()) ** 0.5:.12E}")
