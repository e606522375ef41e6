/* Rules: X9
 * Attack: reads the CPU time of its init, which counts on from run to run: an earlier run can have
 *   told it a number by calls that init answers.
 * Expect: ok
 */
#include "attack.h"
#include <pthread.h>

/* The clock of the CPU time of a process, as clock_getcpuclockid() makes it. */
static clockid_t clock_of(pid_t pid)
{
    return (clockid_t)(~(unsigned)pid << 3 | 2);
}

static void refuse_clock(clockid_t clock)
{
    struct timespec now, soon = {0, 1};
    timer_t timer;
    must_fail(syscall(SYS_clock_gettime, clock, &now), EINVAL);
    must_fail(syscall(SYS_clock_gettime, (unsigned long)clock ^ 1UL << 40, &now), EINVAL);
    must_fail(syscall(SYS_clock_nanosleep, clock, 0, &soon, NULL), EINVAL);
    must_fail(timer_create(clock, NULL, &timer), EINVAL);
}

static void use_clock(clockid_t clock)
{
    struct timespec now;
    timer_t timer;
    must_work(syscall(SYS_clock_gettime, clock, &now));
    must_work(timer_create(clock, NULL, &timer));
    must_work(timer_delete(timer));
}

int main(void)
{
    start();
    for (int kind = 0; kind < 3; kind++)
        refuse_clock((clock_of(1) & ~3) | kind);
    pid_t child = in_child(sleep_forever);
    refuse_clock(clock_of(child));
    kill(child, SIGKILL);
    clockid_t own_process, own_thread;
    must_be(clock_getcpuclockid(getpid(), &own_process) == 0);
    must_be(pthread_getcpuclockid(pthread_self(), &own_thread) == 0);
    const clockid_t own[] = {own_process,     own_thread,
                             clock_of(0),     CLOCK_PROCESS_CPUTIME_ID,
                             CLOCK_MONOTONIC, CLOCK_THREAD_CPUTIME_ID};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        use_clock(own[i]);
    return held();
}
