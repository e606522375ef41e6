/* Rules: X7 X5 J7
 * Attack: allocates memory in several children, each below the limit.
 * Expect: memory_limit
 * Limits: memory_bytes=32MiB
 * At least: memory_bytes=28MiB
 */
#include "attack.h"

static void take(void)
{
    take_memory(8 << 20);
    sleep_forever();
}

int main(void)
{
    start();
    for (int i = 0; i < 8; i++)
        must_work(in_child(take));
    sleep_forever();
}
