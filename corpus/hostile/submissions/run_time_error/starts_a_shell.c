#include <unistd.h>

int main(void) {
    execl("/bin/sh", "sh", "-c", "echo 3 -1", (char *)0);
    return 0;
}
