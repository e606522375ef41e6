import itertools
import string

for word in itertools.product(string.ascii_lowercase, repeat=int(input())):
    print("".join(word))
