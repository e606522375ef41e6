# Rules: X6 X7
# Attack: makes the compiler compute forever.
# Profile: compiler
# Expect: time_limit | memory_limit
# Limits: memory_bytes=256MiB cpu_ms=300
echo started
cat >bomb.cc <<'END'
constexpr long spin(long n) {
    long sum = 0;
    for (long i = 0; i < n; i++)
        sum += i;
    return sum;
}
static_assert(spin(1L << 60) != 0);
END
g++ -std=c++17 -fconstexpr-loop-limit=2147483647 -fconstexpr-ops-limit=9223372036854775807 \
    -c bomb.cc -o bomb.o
echo "got through: g++ ended with $?"
exit 1
