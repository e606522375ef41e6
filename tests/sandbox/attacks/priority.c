/* Rules: X5
 * Attack: gives itself more CPU time than other processes get.
 * Each: setpriority sched_setscheduler sched_setattr ioprio_set sched_setaffinity
 * Expect: ok | forbidden_syscall $1
 * Without SECCOMP: ok
 * As root: Without SECCOMP
 */
#include "attack.h"
#include <linux/ioprio.h>
#include <sys/resource.h>

struct attributes {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime, deadline, period;
};

int main(int count, char **arguments)
{
    start();
    const char *name = count > 1 ? arguments[1] : "";
    if (strcmp(name, "setpriority") == 0) {
        must_fail(setpriority(PRIO_PROCESS, 0, -1), EPERM, EACCES);
        must_fail(setpriority(PRIO_PROCESS, 1, 19), EPERM, EACCES, ESRCH);
        must_fail(setpriority(PRIO_PGRP, 1, 19), EPERM, EACCES, ESRCH);
        const int before = getpriority(PRIO_PROCESS, 1);
        setpriority(PRIO_USER, 0, 19);
        must_be(getpriority(PRIO_PROCESS, 1) == before);
    } else if (strcmp(name, "sched_setscheduler") == 0) {
        struct sched_param first = {.sched_priority = 99};
        must_fail(syscall(SYS_sched_setscheduler, 0, SCHED_FIFO, &first), EPERM);
        must_fail(syscall(SYS_sched_setscheduler, 0, SCHED_RR, &first), EPERM);
        must_fail(syscall(SYS_sched_setscheduler, 1, SCHED_FIFO, &first), EPERM, ESRCH);
    } else if (strcmp(name, "sched_setattr") == 0) {
        struct attributes deadline = {.size = sizeof deadline,
                                      .policy = 6,
                                      .runtime = 900000,
                                      .deadline = 1000000,
                                      .period = 1000000};
        must_fail(syscall(SYS_sched_setattr, 0, &deadline, 0), EPERM);
    } else if (strcmp(name, "ioprio_set") == 0) {
        int real_time = IOPRIO_PRIO_VALUE(IOPRIO_CLASS_RT, 0);
        must_fail(syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0, real_time), EPERM);
    } else {
        cpu_set_t before, all, after;
        must_work(sched_getaffinity(0, sizeof before, &before));
        memset(&all, 0xff, sizeof all);
        sched_setaffinity(0, sizeof all, &all);
        must_work(sched_getaffinity(0, sizeof after, &after));
        must_be(CPU_EQUAL(&before, &after));
        must_fail(sched_setaffinity(1, sizeof all, &all), EPERM, ESRCH);
    }
    return held();
}
