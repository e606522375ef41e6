#include "add.h"

long long add(int a, int b) { return (long long)a + b; }
