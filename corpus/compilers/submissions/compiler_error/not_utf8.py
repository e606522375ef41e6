# @EXPECTED_RESULTS@: COMPILER-ERROR
name = 'ÿþ'
print(input())
