# Walks on from each second: quadratic where it is dark for long.
notes = input()
longest = 0
for start in range(len(notes)):
    end = start
    while end < len(notes) and notes[end] == ".":
        end += 1
    longest = max(longest, end - start)
print(longest)
