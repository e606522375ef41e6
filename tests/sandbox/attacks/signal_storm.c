/* Rules: X7 X5
 * Attack: sends signals without end to itself and its init.
 * Expect: time_limit
 * Without CGROUP: time_limit
 * Limits: cpu_ms=200
 */
#include "attack.h"
#include <sys/time.h>

static void ignore(int number)
{
    (void)number;
}

int main(void)
{
    start();
    for (int number = SIGHUP; number < NSIG; number++)
        signal(number, ignore);
    struct itimerval often = {{0, 50}, {0, 50}};
    setitimer(ITIMER_REAL, &often, NULL);
    for (;;)
        for (int number = SIGRTMIN; number <= SIGRTMAX; number++) {
            kill(1, number);
            kill(0, number);
        }
}
