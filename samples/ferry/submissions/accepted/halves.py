n, k = map(int, input().split())
weights = list(map(int, input().split()))


def crossings(load: int) -> int:
    count, carried = 1, 0
    for weight in weights:
        carried += weight
        if carried > load:
            count += 1
            carried = weight
    return count


low, high = max(weights), sum(weights)
while low < high:
    middle = (low + high) // 2
    if crossings(middle) <= k:
        high = middle
    else:
        low = middle + 1
print(low)
