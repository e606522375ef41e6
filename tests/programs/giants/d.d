import std.stdio;

void main() {
    writeln((new long[1L << 40]).length);
}
