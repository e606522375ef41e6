/* Rules: X7
 * Attack: stops itself, and so never ends.
 * Expect: wall_limit
 * Without PID: wall_limit
 * Without CGROUP: wall_limit
 * Limits: wall_ms=1000
 */
#include "attack.h"

int main(void)
{
    start();
    kill(0, SIGSTOP);
    return 0;
}
