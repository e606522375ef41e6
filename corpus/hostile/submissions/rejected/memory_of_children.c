/* Three children of 30 MB each, all at once. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void) {
    int a, b, ends[2];
    scanf("%d %d", &a, &b);
    pipe(ends);
    for (int i = 0; i < 3; i++) {
        if (fork() == 0) {
            char byte;
            volatile char *memory = malloc(30 << 20);
            for (size_t i = 0; i < 30u << 20; i += 4096) memory[i] = 1;
            close(ends[1]);
            read(ends[0], &byte, 1);
            _exit(0);
        }
    }
    sleep(1);
    close(ends[1]);
    while (wait(NULL) > 0);
    printf("%d %d\n", a + b, a - b);
    return 0;
}
