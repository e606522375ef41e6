let times a b = a * b
