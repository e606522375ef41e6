# @EXPECTED_RESULTS@: COMPILER-ERROR
if True:
print(input())
