# Looks at a stretch only when the lamp is lit again.
dark = longest = 0
for second in input():
    if second == ".":
        dark += 1
    else:
        longest = max(longest, dark)
        dark = 0
print(longest)
