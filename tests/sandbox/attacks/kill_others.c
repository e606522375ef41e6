/* Rules: X7 X1
 * Attack: kills and stops its parent, its init, and every other process.
 * Expect: ok
 * Without PID: ok
 * Without SECCOMP: ok
 * Without ALL: ok
 * As root: Without PID, Without ALL
 */
#include "attack.h"

int main(void)
{
    start();
    const int signals[] = {0, SIGKILL, SIGSTOP, SIGTERM, SIGSEGV};
    pid_t parent = getppid();
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        if (has_one_id()) /* allowed, but the init of a namespace ignores it */
            kill(1, signals[i]);
        else
            must_fail(kill(1, signals[i]), EPERM, ESRCH);
        kill(-1, signals[i]); /* 0 if there is any process, even if none got the signal */
        if (parent > 1)
            must_fail(kill(parent, signals[i]), EPERM, ESRCH);
        for (pid_t pid = 2; pid < 300; pid++)
            if (pid != getpid())
                must_fail(kill(pid, signals[i]), EPERM, ESRCH);
    }
    must_be(getppid() == parent);
    return held();
}
