/* @EXPECTED_RESULTS@: WRONG-ANSWER */
#include <stdio.h>

int main(void) {
    puts("1");
    return 0;
}
