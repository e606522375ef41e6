/* Rules: X4 X5
 * Attack: keeps init busy with calls that it must answer, so that it misses a limit.
 * Expect: time_limit
 * Without CGROUP: time_limit | wall_limit
 * Limits: cpu_ms=100 wall_ms=2000
 */
#include "attack.h"
#include <sys/personality.h>

static void ask(void)
{
    for (;;)
        personality(ADDR_NO_RANDOMIZE);
}

int main(void)
{
    start();
    for (int i = 0; i < 8; i++)
        must_work(in_child(ask));
    ask();
}
