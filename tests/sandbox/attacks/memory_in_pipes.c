/* Rules: X7 X5
 * Attack: stores its data in the buffers of pipes.
 * Expect: memory_limit
 * Limits: memory_bytes=8MiB open_files=512 processes=16
 */
#include "attack.h"

/* The kernel makes new pipes small once a user's pipes use much memory, also those of other programs
 * with the same uid (as in a container with its own /run, whose leases of uids nobody sees). So this
 * makes so many pipes that even small ones, of 8 KiB, reach the limit. */
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
