# @EXPECTED_RESULTS@: RUN-ERROR, TIMELIMIT
hoard = []
while True:
    hoard.append(bytearray(1 << 24))
