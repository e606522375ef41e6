/* Spends its time in the kernel. */
#include <fcntl.h>
#include <unistd.h>

static char bytes[1 << 20];

int main(void) {
    int zero = open("/dev/zero", O_RDONLY);
    for (;;) read(zero, bytes, sizeof bytes);
}
