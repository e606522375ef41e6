#include <signal.h>
#include <stdio.h>

int main(void) {
    signal(SIGPIPE, SIG_IGN);
    puts("5000");
    fflush(stdout);
    while (getchar() != EOF);
    for (int i = 0; i < 10000; i++) puts("and on and on");
    return 0;
}
