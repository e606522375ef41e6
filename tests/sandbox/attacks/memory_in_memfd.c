/* Rules: X7 X5 J7
 * Attack: stores its data in a memfd, outside the quota of the scratch.
 * Expect: memory_limit | forbidden_syscall memfd_create
 * Without SECCOMP: memory_limit
 * Limits: memory_bytes=32MiB file_bytes=256MiB
 */
#include "attack.h"

int main(void)
{
    start();
    static char block[1 << 16];
    int file = memfd_create("memory", 0);
    must_work(file);
    for (int i = 0; i < 2048; i++)
        must_be(write(file, block, sizeof block) == sizeof block);
    got_through("128 MiB in a memfd");
    return held();
}
