# Rules: X6 X7
# Attack: instantiates templates without end, at a small depth.
# Profile: compiler
# Expect: memory_limit | time_limit
# Limits: memory_bytes=64MiB cpu_ms=2000
echo started
cat >bomb.cc <<'END'
template <long Path, int Depth> struct Tree {
    static constexpr long size =
        Tree<2 * Path, Depth - 1>::size + Tree<2 * Path + 1, Depth - 1>::size;
};
template <long Path> struct Tree<Path, 0> {
    static constexpr long size = 1;
};
int main() { return Tree<1, 40>::size != 0; }
END
g++ -c bomb.cc -o bomb.o
echo "got through: g++ ended with $?"
exit 1
