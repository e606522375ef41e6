import std.stdio;

int depth(int n) {
    return n ? 1 + depth(n - 1) : 0;
}

void main() {
    writeln(depth(1_000_000));
}
