/* Rules: X5 J7
 * Attack: uses CPU time in short-lived children that no rusage counts.
 * Expect: time_limit
 * Without CGROUP: wall_limit | time_limit
 * Limits: cpu_ms=100 wall_ms=2000
 */
#include "attack.h"

static void burn_a_little(void)
{
    burn_ms(5);
}

int main(void)
{
    start();
    signal(SIGCHLD, SIG_IGN);
    for (;;) {
        in_child(burn_a_little);
        wait(NULL);
    }
}
