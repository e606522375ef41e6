# The module beside it goes before the library's.
import statistics

print(statistics.median(map(int, input().split())))
