/* Neither listens nor answers. */
#include <unistd.h>

int main(void) {
    for (;;) pause();
}
