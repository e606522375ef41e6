/* Each writes less than the limit, together they exceed it. */
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void) {
    for (int i = 0; i < 4; i++) {
        if (fork() == 0) {
            for (int j = 0; j < 100000; j++) puts("3 -1");
            return 0;
        }
        wait(NULL);
    }
    return 0;
}
