/* A run from inside: init, which waits for the request and watches, and the program.
 *
 *   init      pid 1 of the run's own namespace. Mounts /proc, waits for the request, starts the
 *             program, watches it. Its exit is the kill: the kernel ends everything in the namespace
 *             before the spawner can reap it. It borrows the spawner's memory, which stands still
 *             meanwhile.
 *   program   pid 2. Borrows the same memory until its execve.
 */
#define _GNU_SOURCE
#include "init.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/close_range.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "kernel.h"

#ifndef CLONE_NEWCGROUP
#define CLONE_NEWCGROUP 0x02000000
#endif

/* Between looks at memory, where the kernel keeps no peak. */
#define SAMPLE_NS UINT64_C(5000000)
/* Between looks at the CPU clock, at the least. */
#define MIN_TICK_NS UINT64_C(1000000)
/* Version 1 counts refused forks but tells nobody: looked for soon, then more and more seldom. */
#define FIRST_REFUSAL_NS UINT64_C(2000000)
#define LAST_REFUSAL_NS  UINT64_C(20000000)
/* Between looks at the pipes of a pair: how long a closed end may stay unseen. */
#define HOLD_LOOK_NS UINT64_C(20000000)

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void end_run(struct run *run, enum run_end end, int code)
{
    run->report->end = end;
    run->report->code = code;
}

/* ---- program ---- */

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

static int give_up_privileges(const struct slot *slot)
{
    if (slot->options->privileged &&
        (setgroups(0, NULL) || setresgid(PROGRAM_ID, PROGRAM_ID, PROGRAM_ID) ||
         setresuid(PROGRAM_ID, PROGRAM_ID, PROGRAM_ID)))
        return -1;
    return kernel_drop_capabilities(slot->word);
}

/* Out of memory, the kernel shall kill the program, never its init or the spawner. Programs can't
 * take that back: their own /proc is read-only. One's file in /proc is one's own only while
 * dumpable; nobody lives yet who could make use of that. */
static int offer_to_oom(int proc)
{
    return prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) ||
                   write_text(proc, "self/oom_score_adj", "1000") ||
                   prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
               ? -1
               : 0;
}

static int wire_stdio(struct run *run)
{
    for (int fd = 0; fd < 3; fd++)
        if (dup2(run->stdio[fd], fd) < 0)
            return -1;
    return kernel_close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
}

static int start_program(void *argument)
{
    struct run *run = argument;
    sigset_t none;
    sigemptyset(&none);
    run->exec_step = "program-group";
    if (setpgid(0, 0) || sigprocmask(SIG_SETMASK, &none, NULL))
        goto failed;
    run->exec_step = "program-oom-score";
    if (offer_to_oom(run->slot->proc))
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
    if (give_up_privileges(run->slot))
        goto failed;
    run->exec_step = "program-exec";
    kernel_execve(run->request.argv[0], run->request.argv, run->request.envp, run->slot->word);
failed:
    run->exec_error = errno;
    _exit(127);
}

/* ---- init: before the run ---- */

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
    if (layers & LAYER_CGROUP && kernel_unshare(CLONE_NEWCGROUP, run->slot->word))
        return fail(fault, "init-cgroup-namespace");
    if (layers & LAYER_PID) {
        if (proc_mount(run->slot))
            return fail(fault, "init-proc");
    } else if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)) {
        return fail(fault, "init-subreaper");
    }
    return 0;
}

/* Receives one packet with its descriptors. Returns its length, 0 at the end, -1 on errors. */
static ssize_t receive(struct run *run, int fds[WIRE_MAX_FDS], int *count, bool wait)
{
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(WIRE_MAX_FDS * sizeof(int))];
    } control;
    struct iovec part = {run->packet, sizeof run->packet};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof control};
    *count = 0;
    ssize_t got;
    do
        got = kernel_recvmsg(run->slot->channel, &message,
                             MSG_CMSG_CLOEXEC | (wait ? 0 : MSG_DONTWAIT), run->slot->word);
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
        int fds[WIRE_MAX_FDS], count;
        ssize_t got = receive(run, fds, &count, true);
        if (got == 0 || (got < 0 && errno == ECONNRESET)) {
            run->slot->shared->closed = true;
            return -1;
        }
        if (got < 0)
            return fail(fault, "receive-request");
        if ((size_t)got == sizeof(struct order) && count == 0)
            continue;
        run->slot->shared->requested = true; /* what fails now is answered by a report */
        if (wire_parse_request(run->packet, (size_t)got, &run->request))
            return fail_with(fault, "parse-request", EBADMSG);
        bool code = run->request.head.flags & REQUEST_CODE;
        bool data = run->request.head.flags & REQUEST_DATA;
        if (count != 3 + code + data ||
            run->request.head.profile >= (uint32_t)run->slot->options->profile_count)
            return fail_with(fault, "parse-request", EINVAL);
        memcpy(run->stdio, fds, sizeof run->stdio);
        run->code = code ? fds[3] : -1;
        run->data = data ? fds[3 + code] : -1;
        return 0;
    }
}

/* Puts a mount at `path`, in place of what the run before had there; -1 only takes that away.
 * `hung` is true while something is or may be there: then a failed unmount ends the run. */
static int hang_tree(struct run *run, const char *path, int tree, bool *hung)
{
    if (*hung && kernel_unmount(path, run->slot->word))
        return -1;
    *hung = false;
    if (tree < 0)
        return 0;
    if (kernel_move_mount(tree, AT_FDCWD, path, run->slot->word))
        return -1;
    *hung = true;
    return close(tree);
}

static int hang_trees(struct run *run, struct fault *fault)
{
    struct shared *shared = run->slot->shared;
    const uint32_t flags = run->request.head.flags;
    if (!(flags & REQUEST_SAME_CODE) && hang_tree(run, "/code", run->code, &shared->code_hung))
        return fail(fault, "hang-code");
    if (!(flags & REQUEST_SAME_DATA) && hang_tree(run, "/data", run->data, &shared->data_hung))
        return fail(fault, "hang-data");
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
    if (kernel_unmount("/work", run->slot->word) || scratch_mount(run->slot))
        return fail(fault, "size-scratch");
    return 0;
}

static int prepare_run(struct run *run, struct fault *fault)
{
    run->slot->shared->flags = run->request.head.flags;
    return hang_trees(run, fault) || size_scratch(run, fault) ? -1 : 0;
}

/* Lends Python the scratch, to fill it. False: there is nothing to start, and the report or
 * the fault says why. */
static bool let_stage(struct run *run, struct fault *fault)
{
    if (!(run->request.head.flags & REQUEST_STAGE))
        return true;
    const struct order note = {WIRE_MAGIC, NOTE_STAGE};
    run->slot->shared->staged = true;
    if (slot_lend_scratch(run->slot, &note, sizeof note)) {
        fail(fault, "lend-scratch");
        return false;
    }
    switch (slot_await_order(run->slot)) {
    case ORDER_START:
        return true;
    case ORDER_CANCEL:
        run->report->ended_ns = now_ns();
        end_run(run, END_CANCELLED, 0);
        return false;
    default:
        run->slot->shared->closed = true;
        return false;
    }
}

static int launch(struct run *run, struct fault *fault)
{
    struct meter *meter = &run->slot->shared->meter;
    const struct request_head *head = &run->request.head;
    if (meter_begin(meter, head->memory_bytes, head->processes, head->cpu_permille, fault))
        return -1;
    run->started_ns = now_ns();
    run->program = clone(start_program, run->stack + sizeof run->stack,
                         CLONE_VM | CLONE_VFORK | CLONE_FILES | SIGCHLD, run);
    if (run->program < 0)
        return fail(fault, "clone-program");
    if (run->exec_error)
        return fail_with(fault, run->exec_step, run->exec_error);
    const bool paired = head->flags & REQUEST_PAIRED;
    run->look_at_ns = HOLD_LOOK_NS;
    if (paired && holds_begin(run, fault))
        return -1;
    for (int fd = paired ? 2 : 0; fd < 3; fd++)
        close(run->stdio[fd]); /* so that readers see the end when the program is gone */
    return kernel_close_range(0, 2, 0) ? fail(fault, "init-close-stdio") : 0;
}

/* ---- init: during the run ---- */

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

/* What the profile says about a call that the filter handed over. */
static uint16_t answer_to(const struct run *run, const struct seccomp_data *call)
{
    const struct profile *profile = &run->slot->options->profiles[run->request.head.profile];
    bool foreign = call->arch != run->slot->options->arch;
    return foreign || call->nr < 0 || call->nr >= PROFILE_CALLS ? 0
                                                                : profile->answers[call->nr];
}

/* Answers one such call. True: it is refused; its caller waits in the kernel until the end
 * of the run. */
static bool refused_call(struct run *run)
{
    union {
        struct seccomp_notif notice;
        char room[1024]; /* a newer kernel's may be larger */
    } call = {0};
    union {
        struct seccomp_notif_resp answer;
        char room[1024];
    } reply = {0};
    const struct slot *slot = run->slot;
    if (kernel_ioctl(slot->listener, SECCOMP_IOCTL_NOTIF_RECV, &call, slot->word))
        return false; /* the caller was killed meanwhile */
    uint16_t answer = answer_to(run, &call.notice.data);
    if (!answer) {
        run->report->arch = call.notice.data.arch;
        end_run(run, END_FORBIDDEN, call.notice.data.nr);
        return true;
    }
    reply.answer.id = call.notice.id;
    if (answer == PROFILE_ALLOW)
        reply.answer.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
    else
        reply.answer.error = -(int)answer;
    /* Fails when the caller was killed. */
    kernel_ioctl(slot->listener, SECCOMP_IOCTL_NOTIF_SEND, &reply, slot->word);
    return false;
}

static bool told_to_stop(struct run *run)
{
    int fds[WIRE_MAX_FDS], count;
    ssize_t got = receive(run, fds, &count, false);
    if (got < 0 && errno == EAGAIN)
        return false;
    if (got <= 0)
        run->slot->shared->closed = true;
    end_run(run, END_CANCELLED, 0);
    return true;
}

/* How many cores a program can keep busy at once. */
static uint64_t most_cores(const struct run *run)
{
    const struct options *options = run->slot->options;
    uint64_t cores = options->cpu_count ? 1 : options->cores;
    uint64_t quota = (run->request.head.cpu_permille + 999) / 1000;
    return quota && quota < cores ? quota : cores;
}

/* When to look again: at the wall limit, or when a busy program could reach its CPU limit. */
static uint64_t next_look(const struct run *run, uint64_t cpu_ns, uint64_t elapsed_ns)
{
    const struct request_head *head = &run->request.head;
    uint64_t wait = head->wall_ns - elapsed_ns;
    if (head->flags & REQUEST_PAIRED && run->look_at_ns - elapsed_ns < wait)
        wait = run->look_at_ns - elapsed_ns;
    if (run->slot->shared->meter.on) {
        uint64_t left = head->cpu_ns - cpu_ns;
        left /= most_cores(run);
        if (left < MIN_TICK_NS)
            left = MIN_TICK_NS;
        if (left < wait)
            wait = left;
        uint64_t refusals = elapsed_ns < FIRST_REFUSAL_NS  ? FIRST_REFUSAL_NS
                            : elapsed_ns < LAST_REFUSAL_NS ? elapsed_ns
                                                           : LAST_REFUSAL_NS;
        if (!run->slot->shared->meter.v2[PIDS] && refusals < wait)
            wait = refusals;
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
    if (!meter->v2[PIDS] && meter_refused(meter)) {
        end_run(run, END_PROCESSES, 0);
        return true;
    }
    if (elapsed >= run->request.head.wall_ns) {
        end_run(run, END_WALL, 0);
        return true;
    }
    if (run->request.head.flags & REQUEST_PAIRED && elapsed >= run->look_at_ns) {
        holds_look(run);
        run->look_at_ns = elapsed + HOLD_LOOK_NS;
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
        [LISTENER] = {run->slot->listener, POLLIN, 0},
        [OOM] = {-1, POLLIN | POLLPRI, 0},
        [REFUSED] = {-1, POLLPRI, 0},
    };
    if (meter->on) {
        watched[OOM].fd = meter->oom_event >= 0 ? meter->oom_event
                          : meter->v2[MEMORY]   ? meter->oom
                                                : -1;
        watched[REFUSED].fd = meter->v2[PIDS] ? meter->pids_events : -1;
    }
    for (uint64_t wait = next_look(run, 0, 0);;) {
        struct timespec timeout = {(time_t)(wait / 1000000000), (long)(wait % 1000000000)};
        int ready = ppoll(watched, WATCHED, &timeout, NULL);
        if (ready > 0) {
            if (watched[LISTENER].revents & POLLIN && refused_call(run))
                break;
            /* Version 1's event means that nothing could be reclaimed; version 2's may mean
             * less. */
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
    run->report->ended_ns = now_ns();
    run->report->wall_ns = run->report->ended_ns - run->started_ns;
}

/* Without a pid namespace of its own the run's processes are all of the slot's but the
 * spawner and us. */
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

/* From the request to the program's start. False: it did not start, and the report or the fault
 * says why. */
static bool begin(struct run *run, struct fault *fault)
{
    return prepare_init(run, fault) == 0 && await_request(run, fault) == 0 &&
           prepare_run(run, fault) == 0 && let_stage(run, fault) && launch(run, fault) == 0;
}

void init_main(void *argument)
{
    struct run *run = argument;
    struct slot *slot = run->slot;
    struct fault fault = {0};
    if (!begin(run, &fault)) {
        if (!fault.error)
            _exit(0);
        if (slot->shared->requested)
            report_put_fault(run->report, &fault);
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
