#include "add.h"

long long add(int a, int b) { return 0LL + a - b; }
