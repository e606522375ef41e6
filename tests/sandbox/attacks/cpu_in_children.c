/* Rules: X5 J7
 * Attack: uses CPU time in its children while it waits itself.
 * Expect: time_limit
 * Without CGROUP: time_limit | wall_limit
 * Limits: cpu_ms=200 wall_ms=5000
 */
#include "attack.h"

int main(void)
{
    start();
    for (int i = 0; i < 4; i++)
        must_work(in_child(burn));
    for (;;) {
        wait(NULL);
        in_child(burn);
    }
}
