/* Rules: X7 X2
 * Attack: exits normally, but leaves busy children in their own sessions.
 * Expect: ok
 * Without PID: ok
 * Without CGROUP: ok
 * Without ALL: ok
 */
#include "attack.h"

static void detach(void)
{
    setsid();
    for (int number = SIGHUP; number < NSIG; number++)
        signal(number, SIG_IGN);
    if (fork() == 0)
        burn();
    burn();
}

int main(void)
{
    start();
    for (int i = 0; i < 3; i++)
        must_work(in_child(detach));
    return held();
}
