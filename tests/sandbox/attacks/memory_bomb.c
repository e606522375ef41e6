/* Rules: X7 X5 J7
 * Attack: allocates and writes memory without end.
 * Expect: memory_limit
 * Without PID: memory_limit
 * Without SECCOMP NAMESPACES: memory_limit
 * Limits: memory_bytes=32MiB
 * At least: memory_bytes=28MiB
 */
#include "attack.h"

int main(void)
{
    start();
    for (size_t taken = 0; taken < (size_t)1 << 30; taken += 1 << 20)
        take_memory(1 << 20);
    got_through("1 GiB of memory");
    return held();
}
