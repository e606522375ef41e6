#include <stdlib.h>
#include <string.h>

int main(void) {
    for (;;) {
        char *more = malloc(1 << 22);
        if (more) memset(more, 1, 1 << 22);
    }
}
