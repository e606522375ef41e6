# @EXPECTED_RESULTS@: OUTPUT-LIMIT
while True:
    print("x" * 1000)
