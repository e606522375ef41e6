/* Rules: X7 J2 X5
 * Attack: writes output without end.
 * Each: stdout stderr both
 * Expect: output_limit
 * Without PID: output_limit
 * Without CGROUP: output_limit
 * Limits: output_bytes=256KiB
 */
#include "attack.h"

int main(int count, char **arguments)
{
    start();
    const char *where = count > 1 ? arguments[1] : "";
    static char block[1 << 16];
    memset(block, 'x', sizeof block);
    for (;;) {
        if (strcmp(where, "stdout") != 0)
            must_work(write(STDERR_FILENO, block, sizeof block));
        if (strcmp(where, "stderr") != 0)
            must_work(write(STDOUT_FILENO, block, sizeof block));
    }
}
