import std.stdio;
import adder;

void main() {
    writeln(add(40, 2));
}
