import sys


class Order:
    """One order of the bakery."""

    def __init__(self, name, weight, price):
        self.name = name
        self.weight = weight
        self.price = price


def read_orders(stream):
    count = int(stream.readline())
    orders = []
    for _ in range(count):
        name, weight, price = stream.readline().split()
        orders.append(Order(name, int(weight), int(price)))
    return orders


def best_value(orders, capacity):
    # best[c] is the most that fits into a van of capacity c
    best = [0] * (capacity + 1)
    taken = [[False] * (capacity + 1) for _ in orders]
    for i in range(len(orders)):
        for c in range(capacity, orders[i].weight - 1, -1):
            candidate = best[c - orders[i].weight] + orders[i].price
            if candidate > best[c]:
                best[c] = candidate
                taken[i][c] = True
    return best, taken


def chosen(orders, taken, capacity):
    names = []
    rest = capacity
    for i in range(len(orders) - 1, -1, -1):
        if taken[i][rest]:
            names.append(orders[i].name)
            rest -= orders[i].weight
    return sorted(names)


def histogram(orders):
    counts = {}
    for order in orders:
        key = order.weight // 10
        counts[key] = counts.get(key, 0) + 1
    for key in sorted(counts):
        print(key * 10, "-", key * 10 + 9, ":", "*" * counts[key])


def main():
    capacity = int(sys.stdin.readline())
    orders = read_orders(sys.stdin)
    best, taken = best_value(orders, capacity)
    print(best[capacity])
    print(" ".join(chosen(orders, taken, capacity)) or "nothing")
    histogram(orders)


main()
