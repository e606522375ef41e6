/* Rules: X1 X5
 * Attack: allocates memory without end where only the address space is limited.
 * Expect: ok | memory_limit
 * Without CGROUP: ok
 * Without ALL: ok
 * Limits: memory_bytes=48MiB
 * Address space: bounded
 */
#include "attack.h"

int main(void)
{
    start();
    size_t taken = 0;
    for (char *block; taken < (size_t)1 << 30 && (block = malloc(1 << 20)); taken += 1 << 20)
        memset(block, 1, 1 << 20);
    must_be(errno == ENOMEM);
    must_be(taken <= 48 << 20);
    return held();
}
