import sys
from collections import deque


def bfs(start, graph, colour):
    colour[start] = 0
    q = deque([start])
    while q:
        u = q.popleft()
        for v in graph[u]:
            if colour[v] == -1:
                colour[v] = 1 - colour[u]
                q.append(v)
            elif colour[v] == colour[u]:
                return False
    return True


def main():
    input = sys.stdin.readline
    n, m = map(int, input().split())
    graph = [[] for _ in range(n + 1)]
    for _ in range(m):
        a, b = map(int, input().split())
        graph[a].append(b)
        graph[b].append(a)
    colour = [-1] * (n + 1)
    for i in range(1, n + 1):
        if colour[i] == -1:
            if not bfs(i, graph, colour):
                print("impossible")
                return
    print("".join("AB"[colour[i]] for i in range(1, n + 1)))


main()
