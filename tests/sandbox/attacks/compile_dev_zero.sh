# Rules: X6 X7
# Attack: includes a file that never ends.
# Profile: compiler
# Expect: memory_limit | time_limit
# Limits: memory_bytes=128MiB cpu_ms=10000
echo started
echo '#include "/dev/zero"' >bomb.c
gcc -c bomb.c -o bomb.o
echo "got through: gcc ended with $?"
exit 1
