print("zero one two three four five six".split()[int(input())])
