/* Rules: X4 X7
 * Attack: starts a child in new namespaces, where it would be root.
 * Each: user mount pid net ipc uts cgroup
 * Expect: signalled SIGSYS
 * Only SECCOMP: signalled SIGSYS
 * Without SECCOMP: ok
 */
#include "attack.h"

int main(int count, char **arguments)
{
    start();
    const struct {
        const char *name;
        unsigned long flag;
    } kinds[] = {{"user", CLONE_NEWUSER},    {"mount", CLONE_NEWNS}, {"pid", CLONE_NEWPID},
                 {"net", CLONE_NEWNET},      {"ipc", CLONE_NEWIPC},  {"uts", CLONE_NEWUTS},
                 {"cgroup", CLONE_NEWCGROUP}};
    bool known = false;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (count > 1 && strcmp(arguments[1], kinds[i].name) == 0) {
            known = true;
            long child = syscall(SYS_clone, kinds[i].flag | SIGCHLD, NULL, NULL, NULL, NULL);
            if (child == 0)
                _exit(0);
            must_fail(child, EPERM, ENOSPC, EUSERS);
        }
    must_be(known);
    return held();
}
