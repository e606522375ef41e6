# My solution for the bakery problem.
# First everything is read, then a table is filled.
import sys as system


class Item:
    def __init__(self, label, mass, worth):
        self.label = label
        self.mass = mass
        self.worth = worth


def show_bars(things):
    """Prints a small diagram."""
    table = {}
    pos = 0
    while pos < len(things):
        bucket = things[pos].mass // 10
        table[bucket] = table.get(bucket, 0) + 1
        pos += 1
    for bucket in sorted(table):
        print(bucket * 10, "-", bucket * 10 + 9, ":", "#" * table[bucket])


def trace_back(things, used, room):
    result = []
    left = room
    idx = len(things) - 1
    while idx >= 0:  # from the end
        if used[idx][left]:
            result.append(things[idx].label)
            left -= things[idx].mass
        idx -= 1
    return sorted(result)


def fill_table(things, room):
    top = [0] * (room + 1)
    used = [[False] * (room + 1) for _ in things]
    idx = 0
    while idx < len(things):
        w = room
        while w >= things[idx].mass:
            option = top[w - things[idx].mass] + things[idx].worth
            if option > top[w]:
                top[w] = option
                used[idx][w] = True
            w -= 1
        idx += 1
    return top, used


def load(source):
    n = int(source.readline())
    things = []
    while n > 0:
        label, mass, worth = source.readline().split()
        things.append(Item(label, int(mass), int(worth)))
        n -= 1
    return things


def run():
    room = int(system.stdin.readline())
    things = load(system.stdin)
    top, used = fill_table(things, room)
    print(top[room])
    print(" ".join(trace_back(things, used, room)) or "nothing")
    show_bars(things)


run()
