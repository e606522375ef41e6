/* A child plays; the parent waits for it. */
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void) {
    int low = 1, high = 1000;
    char answer[16] = "";
    if (fork() != 0) {
        wait(NULL);
        return 0;
    }
    while (strcmp(answer, "correct") != 0) {
        int guess = (low + high) / 2;
        printf("%d\n", guess);
        fflush(stdout);
        if (scanf("%15s", answer) != 1) return 1;
        if (strcmp(answer, "lower") == 0) high = guess - 1;
        if (strcmp(answer, "higher") == 0) low = guess + 1;
    }
    return 0;
}
