echo newSeq[int](1 shl 40).len
