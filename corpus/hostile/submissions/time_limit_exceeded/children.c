/* Four children, one after the other, of half a second each. */
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

int main(void) {
    int a, b;
    scanf("%d %d", &a, &b);
    for (int i = 0; i < 4; i++) {
        if (fork() == 0) {
            while (clock() < CLOCKS_PER_SEC / 2);
            _exit(0);
        }
        wait(NULL);
    }
    printf("%d %d\n", a + b, a - b);
    return 0;
}
