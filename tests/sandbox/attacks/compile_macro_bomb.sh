# Rules: X6 X7
# Attack: expands a macro to 2^40 words.
# Profile: compiler
# Expect: memory_limit | time_limit
# Limits: memory_bytes=128MiB cpu_ms=10000
echo started
echo '#define A0 x' >bomb.c
for i in 1 2 3 4 5 6 7 8 9 10; do
    echo "#define A$i A$((i - 1)) A$((i - 1)) A$((i - 1)) A$((i - 1)) \
A$((i - 1)) A$((i - 1)) A$((i - 1)) A$((i - 1)) A$((i - 1)) A$((i - 1)) A$((i - 1)) \
A$((i - 1)) A$((i - 1)) A$((i - 1)) A$((i - 1)) A$((i - 1))"
done >>bomb.c
echo 'A10' >>bomb.c
gcc -c bomb.c -o bomb.o
echo "got through: gcc ended with $?"
exit 1
