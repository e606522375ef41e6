#include "largest.h"

int largest(int a, int b) { return a > b ? a : b; }
