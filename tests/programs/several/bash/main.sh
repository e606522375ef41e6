. /code/adder.sh
add 40 2
