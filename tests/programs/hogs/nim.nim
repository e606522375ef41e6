var all: seq[seq[int]]
while true:
  all.add(newSeq[int](4096))
  all[^1][7] = 1
