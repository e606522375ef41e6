# Rules: X6 X7
# Attack: makes the compiler wait for input that never comes.
# Profile: compiler
# Stdin: never closed
# Expect: wall_limit
# Limits: wall_ms=1500
echo started
gcc -x c -c - -o bomb.o
echo "got through: gcc ended with $?"
exit 1
