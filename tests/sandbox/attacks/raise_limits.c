/* Rules: X1 X5
 * Attack: raises its own limits and those of its init.
 * Expect: ok | forbidden_syscall prlimit64
 * Without SECCOMP: ok
 * Without ALL: ok
 * As root: Without SECCOMP, Without ALL
 */
#include "attack.h"
#include <sys/resource.h>

int main(void)
{
    start();
    const __rlimit_resource_t resources[] = {RLIMIT_CPU,    RLIMIT_FSIZE, RLIMIT_NPROC,
                                             RLIMIT_NOFILE, RLIMIT_CORE,  RLIMIT_MEMLOCK};
    for (size_t i = 0; i < sizeof resources / sizeof *resources; i++) {
        struct rlimit limit;
        must_work(getrlimit(resources[i], &limit));
        if (limit.rlim_max == RLIM_INFINITY) {
            got_through("limit %d is infinite", (int)resources[i]);
            continue;
        }
        limit.rlim_max++;
        must_fail(setrlimit(resources[i], &limit), EPERM);
        limit.rlim_cur = limit.rlim_max = RLIM_INFINITY;
        must_fail(setrlimit(resources[i], &limit), EPERM);
    }
    struct rlimit none = {0, 0};
    must_fail(prlimit(1, RLIMIT_NOFILE, &none, NULL), EPERM, ESRCH);
    if (getppid() != 0)
        must_fail(prlimit(getppid(), RLIMIT_CPU, &none, NULL), EPERM, ESRCH);
    return held();
}
