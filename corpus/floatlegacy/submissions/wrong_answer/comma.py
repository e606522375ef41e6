print(f"{float(input()) ** 0.5:.9f}".replace(".", ","))
