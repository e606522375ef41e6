import adder

echo add(40, 2)
