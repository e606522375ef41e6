/* Gives the runner, and with it every program, the same state whoever started the service. What a
 * process inherits and only the runner can set is here; docs/sandbox.md lists the whole state.
 *
 * Without root some of it can only be made stricter: a nice value that was raised and hard limits
 * that were lowered stay. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/ioprio.h>
#include <linux/keyctl.h>
#include <linux/mempolicy.h>
#include <sched.h>
#include <signal.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include "kernel.h"
#include "state.h"

#define TIMER_SLACK_NS 50000 /* the kernel's default */
#define OPEN_FILES     (1 << 20)

/* Whether a call failed for another reason than that the kernel lacks it or doesn't allow it. */
static bool is_fault(long result)
{
    return result && errno != EPERM && errno != EACCES && errno != ENOSYS && errno != EINVAL;
}

/* `nohup` and shells without job control start a service with ignored signals, which every
 * program would inherit: it would survive its own SIGINT, and some runtimes change with it. */
static int reset_signals(void)
{
    const struct itimerval never = {0};
    if (setitimer(ITIMER_REAL, &never, NULL) || setitimer(ITIMER_VIRTUAL, &never, NULL) ||
        setitimer(ITIMER_PROF, &never, NULL))
        return -1;
    for (int number = 1; number < NSIG; number++) {
        if (number == SIGKILL || number == SIGSTOP)
            continue;
        if (signal(number, SIG_DFL) == SIG_ERR && errno != EINVAL) /* libc keeps a few */
            return -1;
    }
    return 0;
}

int set_limit(int resource, uint64_t max)
{
    struct rlimit limit = {max, max};
    if (setrlimit(resource, &limit) == 0)
        return 0;
    if (errno != EPERM || getrlimit(resource, &limit))
        return -1;
    limit.rlim_cur = limit.rlim_max; /* only root may raise it */
    return setrlimit(resource, &limit);
}

/* Sets every limit: those of set_program_limits to the most that a run may ask for. */
static int reset_limits(void)
{
    static const struct {
        int resource;
        uint64_t max;
    } limits[] = {
        {RLIMIT_AS, RLIM_INFINITY},
        {RLIMIT_CORE, 1}, /* 0 would still start a program named in core_pattern */
        {RLIMIT_CPU, RLIM_INFINITY},
        {RLIMIT_DATA, RLIM_INFINITY},
        {RLIMIT_FSIZE, RLIM_INFINITY},
        {RLIMIT_LOCKS, RLIM_INFINITY},
        {RLIMIT_MEMLOCK, 64 << 10},
        {RLIMIT_MSGQUEUE, 0},
        {RLIMIT_NICE, 0},
        {RLIMIT_NOFILE, OPEN_FILES},
        {RLIMIT_NPROC, RLIM_INFINITY},
        {RLIMIT_RSS, RLIM_INFINITY},
        {RLIMIT_RTPRIO, 0},
        {RLIMIT_RTTIME, RLIM_INFINITY},
        {RLIMIT_SIGPENDING, 4096},
        {RLIMIT_STACK, RLIM_INFINITY},
    };
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        if (set_limit(limits[i].resource, limits[i].max))
            return -1;
    return 0;
}

static int reset_scheduling(void)
{
    const struct sched_param no_priority = {0};
    const int no_class = IOPRIO_PRIO_VALUE(IOPRIO_CLASS_NONE, 0);
    return is_fault(sched_setscheduler(0, SCHED_OTHER, &no_priority)) ||
                   is_fault(setpriority(PRIO_PROCESS, 0, 0)) ||
                   is_fault(syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0, no_class)) ||
                   is_fault(syscall(SYS_set_mempolicy, MPOL_DEFAULT, NULL, 0)) ||
                   is_fault(prctl(PR_SET_TIMERSLACK, TIMER_SLACK_NS, 0, 0, 0))
               ? -1
               : 0;
}

static int reset_memory_flags(void)
{
    int failed = is_fault(personality(PER_LINUX) < 0) ||
                 is_fault(prctl(PR_SET_THP_DISABLE, 0, 0, 0, 0)) ||
                 is_fault(prctl(PR_MCE_KILL, PR_MCE_KILL_CLEAR, 0, 0, 0));
#ifdef PR_SET_TSC
    failed |= is_fault(prctl(PR_SET_TSC, PR_TSC_ENABLE, 0, 0, 0));
#endif
    /* Both files are missing on some kernels; the second is writable for root only. */
    write_text(AT_FDCWD, "/proc/self/coredump_filter", "0x33");
    write_text(AT_FDCWD, "/proc/self/loginuid", "4294967295");
    return failed ? -1 : 0;
}

int reset_inherited_state(struct fault *fault)
{
    umask(022);
    if (reset_signals())
        return fail(fault, "runner-signals");
    if (reset_limits())
        return fail(fault, "runner-limits");
    if (reset_scheduling())
        return fail(fault, "runner-scheduling");
    if (reset_memory_flags())
        return fail(fault, "runner-memory-flags");
    return 0;
}

int leave_session_keyring(void)
{
    return is_fault(syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL) < 0) ? -1 : 0;
}
