#include <cassert>

int main() { assert(!"reached"); }
