/* Rules: X7 J7
 * Attack: sleeps forever, with all signals blocked, and uses no CPU time.
 * Expect: wall_limit
 * Without PID: wall_limit
 * Without CGROUP: wall_limit
 * Without ALL: wall_limit
 * Limits: wall_ms=1000
 */
#include "attack.h"

int main(void)
{
    start();
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
    sleep_forever();
}
