# signed; and the validator answers to "breakdown" with an exit code that means nothing
print(input())
