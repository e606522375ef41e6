local add = require("adder")
print(add(40, 2))
