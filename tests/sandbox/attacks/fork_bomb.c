/* Rules: X7 X1 X5
 * Attack: forks without end.
 * Expect: process_limit
 * Without PID: process_limit
 * Without CGROUP: time_limit | wall_limit
 * Without SECCOMP NAMESPACES: process_limit
 * Limits: cpu_ms=300 wall_ms=3000
 */
#include "attack.h"

int main(void)
{
    start();
    for (;;)
        fork();
}
