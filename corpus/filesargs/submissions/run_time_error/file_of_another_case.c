#include <stdio.h>

int main(void) {
    FILE *file = fopen("decoy.txt", "r");
    if (!file) return 3;
    return 0;
}
