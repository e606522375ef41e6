/* Rules: X7 X5
 * Attack: keeps its memory in the buffers of pipes.
 * Expect: memory_limit
 * Limits: memory_bytes=8MiB open_files=64 processes=16
 */
#include "attack.h"

/* A user's pipes get small when they hold much in total: then more of them are needed. */
static void fill(void)
{
    static char block[1 << 20];
    int ends[2];
    while (pipe2(ends, O_NONBLOCK) == 0) {
        fcntl(ends[1], F_SETPIPE_SZ, sizeof block);
        while (write(ends[1], block, sizeof block) > 0)
            ;
    }
}

static void fill_and_wait(void)
{
    fill();
    sleep_forever();
}

int main(void)
{
    start();
    for (int i = 0; i < 8; i++)
        in_child(fill_and_wait);
    fill();
    sleep_forever();
}
