/* Prints everything that a process inherits from the one that started it. */
#include <errno.h>
#include <linux/keyctl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static void print_file(const char *path)
{
    char line[4096];
    FILE *file = fopen(path, "r");
    printf("%s:\n", path);
    while (file && fgets(line, sizeof line, file))
        fputs(line, stdout);
    if (file)
        fclose(file);
}

static void print_signals(void)
{
    sigset_t blocked;
    sigprocmask(SIG_SETMASK, NULL, &blocked);
    for (int number = 1; number < 65; number++) {
        struct sigaction action = {0};
        sigaction(number, NULL, &action);
        if (action.sa_handler != SIG_DFL || sigismember(&blocked, number) == 1)
            printf("signal %d is not at its default\n", number);
    }
}

static void print_limits(void)
{
    for (int resource = 0; resource < RLIM_NLIMITS; resource++) {
        struct rlimit limit;
        if (getrlimit(resource, &limit) == 0)
            printf("limit %d: %llu %llu\n", resource, (unsigned long long)limit.rlim_cur,
                   (unsigned long long)limit.rlim_max);
    }
}

static void print_keyring(void)
{
    char text[256] = "";
    long got =
        syscall(SYS_keyctl, KEYCTL_DESCRIBE, KEY_SPEC_SESSION_KEYRING, text, sizeof text);
    printf("session keyring: %s\n", got < 0 ? strerror(errno) : text);
}

int main(void)
{
    int parent_death = -1, memory_policy = -1;
    prctl(PR_GET_PDEATHSIG, &parent_death);
    syscall(SYS_get_mempolicy, &memory_policy, NULL, 0, NULL, 0);
    print_signals();
    print_limits();
    print_keyring();
    printf("nice %d\n", getpriority(PRIO_PROCESS, 0));
    printf("scheduler %d\n", sched_getscheduler(0));
    printf("io priority %ld\n", syscall(SYS_ioprio_get, 1, 0));
    printf("memory policy %d\n", memory_policy);
    printf("umask %o\n", umask(0));
    printf("timer slack %d\n", prctl(PR_GET_TIMERSLACK));
    printf("dumpable %d\n", prctl(PR_GET_DUMPABLE));
    printf("secure bits %d\n", prctl(PR_GET_SECUREBITS));
    printf("parent-death signal %d\n", parent_death);
    printf("huge pages off %d\n", prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0));
    printf("memory failure policy %d\n", prctl(PR_MCE_KILL_GET, 0, 0, 0, 0));
    printf("personality %x\n", personality(0xffffffff));
    printf("process %d, parent %d, group %d, session %d\n", getpid(), getppid(), getpgrp(),
           getsid(0));
    print_file("/proc/self/status");
    print_file("/proc/self/oom_score_adj");
    print_file("/proc/self/coredump_filter");
    print_file("/proc/self/loginuid");
    print_file("/proc/self/cgroup");
    for (int fd = 0; fd < 4096; fd++) {
        struct stat status;
        if (fstat(fd, &status) == 0)
            printf("descriptor %d\n", fd);
    }
}
