/* Rules: J7 X4
 * Attack: kills itself with a signal that the sandbox or the kernel would use.
 * Each: SIGKILL SIGXCPU SIGSYS SIGABRT SIGSEGV SIGXFSZ SIGTERM
 * Expect: signalled $1
 * Without CGROUP: signalled $1
 */
#include "attack.h"

int main(int count, char **arguments)
{
    start();
    const char *name = count > 1 ? arguments[1] + strlen("SIG") : "";
    for (int number = 1; number < NSIG; number++)
        if (sigabbrev_np(number) && strcmp(sigabbrev_np(number), name) == 0)
            raise(number);
    return 0;
}
