# Wrong in the last case, for another reason than submissions.yaml says.
print(1)
