/* Rules: X5
 * Attack: fills kernel memory with queued signals.
 * Expect: ok | memory_limit
 * Without CGROUP: ok
 * Limits: memory_bytes=16MiB
 */
#include "attack.h"

int main(void)
{
    start();
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
    int queued = 0;
    while (queued < 4000000 && sigqueue(getpid(), SIGRTMIN, (union sigval){0}) == 0)
        queued++;
    must_be(errno == EAGAIN);
    return held();
}
