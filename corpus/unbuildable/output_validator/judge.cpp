#include "left_at_home.h"

int main() { return 42; }
