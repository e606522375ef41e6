/* Waits for a word, while the interactor waits for a guess. */
#include <stdio.h>

int main(void) {
    char answer[16];
    scanf("%15s", answer);
    return 0;
}
