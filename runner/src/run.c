/* Serves one slot: the spawner's loop, the init of each run, and the program itself.
 *
 *   spawner   pid 1 of the slot. Makes an init ahead of every run, waits for its end, reads the counters,
 *             sends the report, wipes the scratch, and begins again.
 *   init      pid 1 of the run's own namespace. Mounts /proc, waits for the request, starts the program, watches
 *             it. Its exit is the kill: the kernel ends everything in the namespace before the spawner can
 *             reap it.
 *   program   pid 2. Shares init's memory and descriptors until its execve (as in vfork), so the listener of its
 *             seccomp filter is in init's hands without being passed.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/close_range.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "kernel.h"
#include "slot.h"

#ifndef MNT_DETACH
#define MNT_DETACH 2
#endif
#ifndef CLONE_NEWCGROUP
#define CLONE_NEWCGROUP 0x02000000
#endif

#define PROGRAM_STACK_BYTES (64 * 1024)
#define SAMPLE_NS UINT64_C(5000000) /* between looks at memory where the kernel keeps no peak */
#define MIN_TICK_NS UINT64_C(1000000) /* CPU limit: looked at no more often than this */
#define LEAVE_TRIES 200               /* × 1 ms for the dead to leave the group's count */

/* One run, seen from its init. */
struct run {
    struct slot *slot;
    struct report *report;
    struct request request;
    int stdio[3];
    int code;
    int children; /* signalfd */
    int listener; /* of the program's filter; -1: none */
    int exec_error;
    const char *exec_step;
    pid_t program;
    uint64_t started_ns;
    char packet[WIRE_MAX_REQUEST + 1];
    char stack[PROGRAM_STACK_BYTES] __attribute__((aligned(64)));
};

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void report_fault(struct report *report, const struct fault *fault)
{
    report->end = END_FAULT;
    report->error = fault->error;
    memcpy(report->step, fault->step, sizeof report->step);
}

/* ---- program ------------------------------------------------------------------------------------------ */

static int bound(int resource, uint64_t most)
{
    struct rlimit limit = {most, most};
    return setrlimit(resource, &limit);
}

static int bound_program(const struct run *run)
{
    const struct request_head *head = &run->request.head;
    const unsigned layers = run->slot->options->layers;
    uint64_t cpu_s =
        (head->cpu_ns + 999999999) / 1000000000 + 1; /* behind the cgroup's own clock */
    uint64_t stack = head->stack_bytes ? head->stack_bytes : RLIM_INFINITY;
    if (bound(RLIMIT_CPU, cpu_s) || bound(RLIMIT_FSIZE, head->file_bytes) ||
        bound(RLIMIT_STACK, stack) || bound(RLIMIT_NOFILE, head->open_files))
        return -1;
    /* Behind the pids group: init and spawner may share the program's uid. */
    if (bound(RLIMIT_NPROC, head->processes + (layers & LAYER_CGROUP ? 8 : 2)))
        return -1;
    return head->flags & REQUEST_ADDRESS_SPACE ? bound(RLIMIT_AS, head->memory_bytes) : 0;
}

static int give_up_privileges(bool privileged)
{
    if (privileged && (setgroups(0, NULL) || setresgid(PROGRAM_ID, PROGRAM_ID, PROGRAM_ID) ||
                       setresuid(PROGRAM_ID, PROGRAM_ID, PROGRAM_ID)))
        return -1;
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[2] = {{0}};
    return (int)syscall(SYS_capset, &head, none);
}

static int wire_stdio(struct run *run)
{
    for (int fd = 0; fd < 3; fd++)
        if (dup2(run->stdio[fd], fd) < 0)
            return -1;
    return kernel_close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
}

static int install_filter(struct run *run)
{
    if (!(run->slot->options->layers & LAYER_SECCOMP))
        return 0;
    const struct filter *filter = &run->slot->options->filters[run->request.head.filter];
    struct sock_fprog program = {.len = filter->length, .filter = filter->program};
    run->listener = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
                                 SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
    return run->listener < 0 ? -1 : 0;
}

static int start_program(void *argument)
{
    struct run *run = argument;
    sigset_t none;
    sigemptyset(&none);
    run->exec_step = "program-session";
    if (setsid() < 0 || sigprocmask(SIG_SETMASK, &none, NULL))
        goto failed;
    run->exec_step = "program-stdio";
    if (wire_stdio(run))
        goto failed;
    run->exec_step = "program-directory";
    if (chdir("/work"))
        goto failed;
    run->exec_step = "program-limits";
    if (bound_program(run))
        goto failed;
    run->exec_step = "program-privileges";
    if (give_up_privileges(run->slot->options->privileged))
        goto failed;
    run->exec_step = "program-seccomp";
    if (install_filter(run))
        goto failed;
    run->exec_step = "program-exec";
    syscall(SYS_execve, run->request.argv[0], run->request.argv, run->request.envp,
            run->slot->options->filters[run->request.head.filter].exec_word);
failed:
    run->exec_error = errno;
    _exit(127);
}

/* ---- init: before the run ----------------------------------------------------------------------------- */

static int prepare_init(struct run *run, struct fault *fault)
{
    const unsigned layers = run->slot->options->layers;
    sigset_t children;
    sigemptyset(&children);
    sigaddset(&children, SIGCHLD);
    if (sigprocmask(SIG_BLOCK, &children, NULL))
        return fail(fault, "init-signals");
    run->children = signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK);
    if (run->children < 0)
        return fail(fault, "init-signals");
    if (layers & LAYER_CGROUP && unshare(CLONE_NEWCGROUP))
        return fail(fault, "init-cgroup-namespace");
    if (layers & LAYER_PID) {
        if (kernel_mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC,
                         "subset=pid,hidepid=ptraceable"))
            return fail(fault, "init-proc");
    } else if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)) {
        return fail(fault, "init-subreaper");
    }
    /* The whole run is what the kernel should kill when its group is out of memory, never the spawner. Our own
     * /proc files are ours only while we are dumpable; no program lives yet that could make use of it. */
    if (prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) ||
        write_text(AT_FDCWD, "/proc/self/oom_score_adj", "1000") ||
        prctl(PR_SET_DUMPABLE, 0, 0, 0, 0))
        return fail(fault, "init-oom-score");
    return 0;
}

/* Receives one packet with up to four descriptors. Returns its length, 0 at the end, -1 on errors. */
static ssize_t receive(struct run *run, int fds[4], int *count, bool wait)
{
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(4 * sizeof(int))];
    } control;
    struct iovec part = {run->packet, sizeof run->packet};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof control};
    *count = 0;
    ssize_t got;
    do
        got =
            recvmsg(run->slot->channel, &message, MSG_CMSG_CLOEXEC | (wait ? 0 : MSG_DONTWAIT));
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return -1;
    for (struct cmsghdr *head = CMSG_FIRSTHDR(&message); head;
         head = CMSG_NXTHDR(&message, head))
        if (head->cmsg_level == SOL_SOCKET && head->cmsg_type == SCM_RIGHTS) {
            *count = (int)((head->cmsg_len - CMSG_LEN(0)) / sizeof(int));
            memcpy(fds, CMSG_DATA(head), (size_t)*count * sizeof(int));
        }
    if (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) {
        errno = EMSGSIZE;
        return -1;
    }
    return got;
}

/* Waits for a request; orders that came too late for the run before are passed over. */
static int await_request(struct run *run, struct fault *fault)
{
    for (;;) {
        int fds[4], count;
        ssize_t got = receive(run, fds, &count, true);
        if (got == 0 || (got < 0 && errno == ECONNRESET)) {
            run->slot->shared->closed = true;
            return -1;
        }
        if (got < 0)
            return fail(fault, "receive-request");
        if ((size_t)got == sizeof(struct order) && count == 0)
            continue;
        if (wire_parse_request(run->packet, (size_t)got, &run->request))
            return fail_with(fault, "parse-request", EBADMSG);
        bool code = run->request.head.flags & REQUEST_CODE;
        if (count != 3 + code ||
            run->request.head.filter >= (uint32_t)run->slot->options->filter_count)
            return fail_with(fault, "parse-request", EINVAL);
        run->slot->shared->requested = true;
        memcpy(run->stdio, fds, sizeof run->stdio);
        run->code = code ? fds[3] : -1;
        return 0;
    }
}

/* Puts the program's files at /code, in place of those of the run before. */
static int hang_code(struct run *run, struct fault *fault)
{
    struct shared *shared = run->slot->shared;
    if (run->request.head.flags & REQUEST_SAME_CODE)
        return 0;
    if (shared->code_hung && kernel_umount("/code", MNT_DETACH))
        return fail(fault, "unhang-code");
    shared->code_hung = run->code >= 0;
    if (run->code < 0)
        return 0;
    if (kernel_move_mount(run->code, "", AT_FDCWD, "/code", MOVE_MOUNT_F_EMPTY_PATH))
        return fail(fault, "hang-code");
    close(run->code);
    return 0;
}

/* The scratch is empty here; only its quotas may have to change. */
static int size_scratch(struct run *run, struct fault *fault)
{
    struct shared *shared = run->slot->shared;
    const struct request_head *head = &run->request.head;
    if (shared->scratch_bytes == head->scratch_bytes &&
        shared->scratch_inodes == head->scratch_inodes)
        return 0;
    shared->scratch_bytes = head->scratch_bytes;
    shared->scratch_inodes = head->scratch_inodes;
    if (kernel_umount("/work", MNT_DETACH) || scratch_mount(shared))
        return fail(fault, "size-scratch");
    return 0;
}

static int launch(struct run *run, struct fault *fault)
{
    struct meter *meter = &run->slot->shared->meter;
    const struct request_head *head = &run->request.head;
    run->slot->shared->flags = head->flags;
    if (hang_code(run, fault) || size_scratch(run, fault) ||
        meter_begin(meter, head->memory_bytes, head->processes, head->cpu_permille, fault))
        return -1;
    run->started_ns = now_ns();
    run->program = clone(start_program, run->stack + sizeof run->stack,
                         CLONE_VM | CLONE_VFORK | CLONE_FILES | SIGCHLD, run);
    if (run->program < 0)
        return fail(fault, "clone-program");
    if (run->exec_error)
        return fail_with(fault, run->exec_step, run->exec_error);
    for (int fd = 0; fd < 3; fd++)
        close(run->stdio[fd]); /* so that readers see the end when the program is gone */
    return kernel_close_range(0, 2, 0) ? fail(fault, "init-close-stdio") : 0;
}

/* ---- init: during the run -------------------------------------------------------------------------------- */

static void end_run(struct run *run, enum run_end end, int code)
{
    run->report->end = end;
    run->report->code = code;
}

/* Reaps whoever died; true when the program itself did. */
static bool reap(struct run *run)
{
    struct signalfd_siginfo drained;
    while (read(run->children, &drained, sizeof drained) > 0)
        ;
    int status;
    for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG | __WALL)) > 0;)
        if (pid == run->program) {
            if (WIFSIGNALED(status))
                end_run(run, END_SIGNALLED, WTERMSIG(status));
            else
                end_run(run, END_EXITED, WEXITSTATUS(status));
            return true;
        }
    return false;
}

/* A call that the filter refused: its caller waits in the kernel until the end of the run. */
static bool refused_call(struct run *run)
{
    union {
        struct seccomp_notif notice;
        char room[1024]; /* a newer kernel's may be larger */
    } call = {0};
    if (ioctl(run->listener, SECCOMP_IOCTL_NOTIF_RECV, &call))
        return false; /* the caller was killed meanwhile */
    run->report->arch = call.notice.data.arch;
    end_run(run, END_FORBIDDEN, call.notice.data.nr);
    return true;
}

static bool told_to_stop(struct run *run)
{
    int fds[4], count;
    ssize_t got = receive(run, fds, &count, false);
    if (got < 0 && errno == EAGAIN)
        return false;
    if (got <= 0)
        run->slot->shared->closed = true;
    end_run(run, END_CANCELLED, 0);
    return true;
}

/* When to look again: at the wall limit, or when a busy program could reach its CPU limit. */
static uint64_t next_look(const struct run *run, uint64_t cpu_ns, uint64_t elapsed_ns)
{
    const struct request_head *head = &run->request.head;
    uint64_t wait = head->wall_ns - elapsed_ns;
    if (run->slot->shared->meter.on) {
        uint64_t left = head->cpu_ns - cpu_ns;
        uint64_t busiest = head->cpu_permille > 1000 || !head->cpu_permille ? 2 : 1;
        left = left / busiest > MIN_TICK_NS ? left / busiest : MIN_TICK_NS;
        if (left < wait)
            wait = left;
        if (run->slot->shared->meter.peak < 0 && SAMPLE_NS < wait)
            wait = SAMPLE_NS;
    }
    return wait;
}

static bool limit_reached(struct run *run, uint64_t *wait)
{
    struct meter *meter = &run->slot->shared->meter;
    uint64_t elapsed = now_ns() - run->started_ns;
    uint64_t cpu = meter_cpu_ns(meter);
    meter_sample(meter);
    if (meter->on && cpu >= run->request.head.cpu_ns) {
        end_run(run, END_CPU, 0);
        return true;
    }
    if (elapsed >= run->request.head.wall_ns) {
        end_run(run, END_WALL, 0);
        return true;
    }
    *wait = next_look(run, cpu, elapsed);
    return false;
}

enum { CHANNEL, CHILDREN, LISTENER, OOM, REFUSED, WATCHED };

static void watch(struct run *run)
{
    struct meter *meter = &run->slot->shared->meter;
    struct pollfd watched[WATCHED] = {
        [CHANNEL] = {run->slot->channel, POLLIN, 0},
        [CHILDREN] = {run->children, POLLIN, 0},
        [LISTENER] = {run->listener, POLLIN, 0},
        [OOM] = {-1, POLLIN | POLLPRI, 0},
        [REFUSED] = {-1, POLLPRI, 0},
    };
    if (meter->on) {
        watched[OOM].fd = meter->oom_event >= 0 ? meter->oom_event
                          : meter->v2[MEMORY]   ? meter->oom
                                                : -1;
        watched[REFUSED].fd = meter->pids_events;
    }
    for (uint64_t wait = next_look(run, 0, 0);;) {
        struct timespec timeout = {(time_t)(wait / 1000000000), (long)(wait % 1000000000)};
        int ready = ppoll(watched, WATCHED, &timeout, NULL);
        if (ready > 0) {
            if (watched[LISTENER].revents & POLLIN && refused_call(run))
                break;
            if (watched[LISTENER].revents & POLLHUP)
                watched[LISTENER].fd = -1; /* nobody is left under the filter */
            /* Version 1's event means that nothing could be reclaimed; version 2's may mean less. */
            if (watched[OOM].revents && (meter->oom_event >= 0 || meter_oom(meter))) {
                end_run(run, END_MEMORY, 0);
                break;
            }
            if (watched[REFUSED].revents && meter_refused(meter)) {
                end_run(run, END_PROCESSES, 0);
                break;
            }
            if (watched[CHILDREN].revents && reap(run))
                break;
            if (watched[CHANNEL].revents && told_to_stop(run))
                break;
        }
        if (limit_reached(run, &wait))
            break;
    }
    run->report->wall_ns = now_ns() - run->started_ns;
}

/* Without a pid namespace of its own the run's processes are all of the slot's but the spawner and us. */
static void kill_without_namespace(void)
{
    for (int status, quiet = 0; !quiet;) {
        kill(-1, SIGKILL);
        quiet = waitpid(-1, &status, __WALL) < 0 && errno == ECHILD;
    }
}

/* Without a cgroup: what the kernel added up for the dead. */
static void add_up(struct report *report)
{
    struct rusage used;
    if (getrusage(RUSAGE_CHILDREN, &used))
        return;
    report->cpu_ns =
        ((uint64_t)used.ru_utime.tv_sec + (uint64_t)used.ru_stime.tv_sec) * 1000000000 +
        ((uint64_t)used.ru_utime.tv_usec + (uint64_t)used.ru_stime.tv_usec) * 1000;
    report->memory_bytes = (uint64_t)used.ru_maxrss * 1024;
}

static _Noreturn void init_main(struct slot *slot, struct run *run)
{
    struct fault fault = {0};
    if (prepare_init(run, &fault) || await_request(run, &fault) || launch(run, &fault)) {
        if (slot->shared->requested)
            report_fault(run->report, &fault);
        else
            slot->shared->fault = fault;
        _exit(1);
    }
    watch(run);
    if (!slot->shared->meter.on || !(slot->options->layers & LAYER_PID))
        kill_without_namespace();
    if (!slot->shared->meter.on)
        add_up(run->report);
    _exit(0);
}

/* ---- spawner ---------------------------------------------------------------------------------------------- */

/* The scratch's first state, which tells whether a run touched it. */
struct scratch_state {
    struct timespec changed;
    mode_t mode;
    uint64_t blocks, inodes;
};

static int see_scratch(struct scratch_state *state)
{
    struct stat directory;
    struct statfs system;
    if (stat("/work", &directory) || statfs("/work", &system))
        return -1;
    *state = (struct scratch_state){directory.st_ctim, directory.st_mode,
                                    system.f_blocks - system.f_bfree,
                                    system.f_files - system.f_ffree};
    return 0;
}

static bool same_scratch(const struct scratch_state *a, const struct scratch_state *b)
{
    return a->changed.tv_sec == b->changed.tv_sec && a->changed.tv_nsec == b->changed.tv_nsec &&
           a->mode == b->mode && a->blocks == b->blocks && a->inodes == b->inodes;
}

/* A used scratch is not emptied but replaced: that takes the same time whatever a program left in it. */
static int renew_scratch(struct slot *slot, struct scratch_state *clean)
{
    struct scratch_state now;
    if (see_scratch(&now))
        return -1;
    /* A new size means a new mount, made by init: its first state was not seen, so make another. */
    if (same_scratch(&now, clean))
        return 0;
    if (kernel_umount("/work", MNT_DETACH) || scratch_mount(slot->shared))
        return -1;
    return see_scratch(clean);
}

static int send_report(struct slot *slot, int scratch)
{
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {0};
    struct iovec part = {&slot->shared->report, sizeof slot->shared->report};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    if (scratch >= 0) {
        message.msg_control = &control;
        message.msg_controllen = sizeof control;
        control.head.cmsg_level = SOL_SOCKET;
        control.head.cmsg_type = SCM_RIGHTS;
        control.head.cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(&control.head), &scratch, sizeof scratch);
    }
    return sendmsg(slot->channel, &message, MSG_NOSIGNAL) < 0 ? -1 : 0;
}

/* Sends the report with the scratch and waits until Python has read what it wants of it. */
static int send_and_hold(struct slot *slot)
{
    int scratch = open("/work", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (scratch < 0)
        return -1;
    int result = send_report(slot, scratch);
    close(scratch);
    while (result == 0) {
        struct order order;
        ssize_t got = recv(slot->channel, &order, sizeof order, 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got != sizeof order)
            return -1;
        if (order.order == ORDER_RELEASE)
            break;
    }
    return result;
}

/* Reads the counters once all of the run is dead. Dying processes leave the count a moment after they are reaped. */
static bool collect_usage(struct slot *slot)
{
    struct report *report = &slot->shared->report;
    struct usage usage;
    bool empty = meter_end(&slot->shared->meter, &usage);
    for (int tries = 0; !empty && tries < LEAVE_TRIES; tries++) {
        usleep(1000);
        empty = meter_end(&slot->shared->meter, &usage);
    }
    if (slot->shared->meter.on) {
        report->cpu_ns = usage.cpu_ns;
        report->memory_bytes = usage.memory_bytes;
        report->oom_kills = usage.oom_kills;
        report->process_refusals = usage.process_refusals;
    }
    return empty;
}

/* Makes an init and waits until it and all of its run are dead. */
static int spawn_and_reap(struct slot *slot, struct run *run)
{
    const unsigned layers = slot->options->layers;
    struct shared *shared = slot->shared;
    uint64_t namespaces =
        (layers & LAYER_PID ? CLONE_NEWPID : 0) | (layers & LAYER_IPC ? CLONE_NEWIPC : 0);
    pid_t init = kernel_fork(namespaces, shared->meter.on ? shared->meter.leaf : -1);
    if (init < 0)
        return fail(&shared->fault, "spawn-init");
    if (init == 0)
        init_main(slot, run);
    int status;
    while (waitpid(init, &status, __WALL) < 0)
        if (errno != EINTR)
            return fail(&shared->fault, "wait-for-init");
    if (shared->closed || shared->fault.error)
        return -1;
    if (shared->report.end == END_NONE) {
        /* Out of memory, the kernel may pick init itself; anything else is our fault. */
        struct fault fault = {0};
        fail_with(&fault, "init-killed", ECHILD);
        report_fault(&shared->report, &fault);
        if (meter_oom(&shared->meter))
            shared->report.end = END_MEMORY;
    }
    return 0;
}

/* Leaves nothing of the run behind. */
static int clean_up(struct slot *slot, struct scratch_state *clean)
{
    if (slot->options->layers & LAYER_PID && kernel_umount("/proc", MNT_DETACH))
        return fail(&slot->shared->fault, "unmount-proc");
    if (renew_scratch(slot, clean))
        return fail(&slot->shared->fault, "renew-scratch");
    return 0;
}

int slot_serve(struct slot *slot)
{
    struct shared *shared = slot->shared;
    struct scratch_state clean;
    struct run *run =
        mmap(NULL, sizeof *run, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (run == MAP_FAILED || see_scratch(&clean))
        return fail(&shared->fault, "begin-serving");
    run->slot = slot;
    run->report = &shared->report;
    run->listener = run->code = -1;
    for (;;) {
        memset(&shared->report, 0, sizeof shared->report);
        shared->report.magic = WIRE_MAGIC;
        shared->flags = 0;
        shared->requested = false;
        if (meter_ready(&shared->meter, &shared->fault) || spawn_and_reap(slot, run))
            return shared->closed ? 0 : -1;
        bool empty = collect_usage(slot);
        if (shared->flags & REQUEST_HOLD ? send_and_hold(slot) : send_report(slot, -1))
            return 0;
        if (!empty)
            return fail_with(&shared->fault, "group-not-empty", EBUSY);
        if (clean_up(slot, &clean))
            return -1;
    }
}
