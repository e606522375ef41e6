# Rules: X6 X7 J2
# Attack: makes the compiler print error messages without end.
# Profile: compiler
# Expect: output_limit
# Limits: memory_bytes=128MiB output_bytes=64KiB cpu_ms=10000
echo started
{
    printf '#define TEN(x) x x x x x x x x x x\n#define MANY(x) TEN(TEN(TEN(TEN(x))))\n'
    echo 'MANY(int f(void) { return undeclared_name_number_one + *1; })'
} >bomb.c
gcc -fmax-errors=0 -c bomb.c -o bomb.o
echo "got through: gcc ended with $?"
exit 1
