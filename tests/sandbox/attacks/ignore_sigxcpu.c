/* Rules: X5 J7
 * Attack: uses CPU time without end and ignores every signal.
 * Expect: time_limit
 * Without PID: time_limit
 * Without CGROUP: time_limit
 * Without ALL: time_limit
 * Limits: cpu_ms=200
 * At least: cpu_ms=180
 */
#include "attack.h"

int main(void)
{
    start();
    for (int number = SIGHUP; number < NSIG; number++)
        signal(number, SIG_IGN);
    burn();
}
