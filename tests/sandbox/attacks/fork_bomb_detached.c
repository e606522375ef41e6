/* Rules: X7 X1
 * Attack: forks without end in new sessions, and each parent exits at once.
 * Expect: process_limit
 * Without PID: process_limit
 * Without CGROUP: time_limit | wall_limit
 * Limits: cpu_ms=300 wall_ms=3000
 */
#include "attack.h"

static void detach(void)
{
    setsid();
    for (;;) {
        if (fork() == 0 && fork() > 0)
            _exit(0);
        setsid();
    }
}

int main(void)
{
    start();
    in_child(detach);
    sleep_forever();
}
