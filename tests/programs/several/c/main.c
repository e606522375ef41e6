#include "adder.h"

#include <stdio.h>

int main(void)
{
    printf("%d\n", add(40, 2));
}
