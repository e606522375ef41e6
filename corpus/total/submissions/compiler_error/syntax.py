# @EXPECTED_RESULTS@: COMPILER-ERROR
def total(:
    return 6
