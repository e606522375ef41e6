# Rules: X6 X7
# Attack: lets the compiler wait for an input that never comes.
# Profile: compiler
# Stdin: never closed
# Expect: wall_limit
# Limits: wall_ms=3000
echo started
echo '#include "/proc/self/fd/0"' >bomb.c
gcc -c bomb.c -o bomb.o
echo "got through: gcc ended with $?"
exit 1
