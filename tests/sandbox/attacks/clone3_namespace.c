/* Rules: X4 X7
 * Attack: passes the flags for new namespaces in memory, where no filter can read them.
 * Expect: ok
 * Without SECCOMP: ok
 */
#include "attack.h"
#include <linux/sched.h>

int main(void)
{
    start();
    const uint64_t kinds[] = {CLONE_NEWUSER, CLONE_NEWNS,  CLONE_NEWPID,    CLONE_NEWNET,
                              CLONE_NEWIPC,  CLONE_NEWUTS, CLONE_NEWCGROUP, CLONE_NEWTIME};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct clone_args arguments = {.flags = kinds[i], .exit_signal = SIGCHLD};
        long child = syscall(SYS_clone3, &arguments, sizeof arguments);
        if (child == 0)
            _exit(0);
        must_fail(child, ENOSYS, EPERM, ENOSPC, EUSERS);
    }
    pid_t plain = fork();
    if (plain == 0)
        _exit(0);
    must_work(plain);
    return held();
}
