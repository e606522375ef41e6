import heapq
import sys


def solve(grid):
    rows = len(grid)
    cols = len(grid[0])
    dist = [[float("inf")] * cols for _ in range(rows)]
    dist[0][0] = grid[0][0]
    heap = [(grid[0][0], 0, 0)]
    while heap:
        d, r, c = heapq.heappop(heap)
        if d > dist[r][c]:
            continue
        if r == rows - 1 and c == cols - 1:
            return d
        for dr, dc in [(0, 1), (1, 0), (0, -1), (-1, 0)]:
            nr = r + dr
            nc = c + dc
            if 0 <= nr < rows and 0 <= nc < cols:
                nd = d + grid[nr][nc]
                if nd < dist[nr][nc]:
                    dist[nr][nc] = nd
                    heapq.heappush(heap, (nd, nr, nc))
    return dist[rows - 1][cols - 1]


def main():
    data = sys.stdin.read().split()
    h, w = int(data[0]), int(data[1])
    grid = [[int(ch) for ch in line] for line in data[2 : 2 + h]]
    print(solve(grid))


main()
