print(*["{{greeting}}"] * int(input()), {{fraction}})
