# Group 3: twice what is above the greatest power of two, and one; with a power, that is all.
n, m = map(int, input().split())
above = n - (1 << (n.bit_length() - 1))
print(2 * above + 1)
