/* Runs one program: init, which receives the request and watches the run, and the program.
 *
 * Processes
 *   init      pid 1 of the run's pid namespace. It mounts /proc, waits for the request, starts
 *             the program and watches it. When it exits, the kernel kills everything else in the
 *             namespace before the spawner can reap init. It shares the spawner's memory, and the
 *             spawner is suspended meanwhile, as with vfork. If a run has left no process, its init
 *             stays for the next run: a new pid namespace with its /proc takes a third of the
 *             time of a short run.
 *   program   pid 2. It shares the same memory until its execve.
 *
 * Descriptors
 *   init has the slot's channel, the listener of the notify filter, the slot's /proc and the
 *   files of the meter. The program gets stdin, stdout and stderr from the request, and nothing
 *   else. With TERMINAL all three are the same terminal, which Python opened; the other side of
 *   it stays in Python.
 *
 * Privileges
 *   init is root of the slot's user namespace (without root: its only uid). The program changes
 *   to PROGRAM_ID and drops all capabilities before its execve. */
#define _GNU_SOURCE
#include "init.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/close_range.h>
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

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#endif

#include "kernel.h"
#include "stage.h"
#include "state.h"

#ifndef CLONE_NEWCGROUP
#define CLONE_NEWCGROUP 0x02000000
#endif

/* Interval of memory samples, if the kernel records no peak, and of all samples without cgroups. */
#define SAMPLE_NS UINT64_C(5000000)
/* Shortest interval between checks of the CPU time. */
#define MIN_TICK_NS UINT64_C(1000000)
/* What the kernel does not tell by an event (the peak of the memory without page cache; in version
 * 1, refused forks): init checks soon, then less and less often. */
#define FIRST_CHECK_NS   UINT64_C(2000000)
#define LONGEST_CHECK_NS UINT64_C(20000000)
/* Interval of checks of the pipes of a pair: a closed pipe stays unnoticed for so long. */
#define PIPE_CHECK_NS UINT64_C(20000000)

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

void *child_stack(struct run *run)
{
#ifdef __SANITIZE_ADDRESS__
    __asan_unpoison_memory_region(run->stack, sizeof run->stack);
#endif
    return run->stack + sizeof run->stack;
}

size_t program_limits(const struct run *run, struct program_limit limits[PROGRAM_LIMITS])
{
    const struct request_head *head = &run->request.head;
    const unsigned layers = run->slot->options->layers;
    size_t count = 0;
    /* more than the cgroup's limit */
    limits[count++] =
        (struct program_limit){RLIMIT_CPU, (head->cpu_ns + 999999999) / 1000000000 + 1};
    limits[count++] = (struct program_limit){RLIMIT_FSIZE, head->file_bytes};
    limits[count++] = (struct program_limit){RLIMIT_STACK, head->stack_bytes ? head->stack_bytes
                                                                             : RLIM_INFINITY};
    limits[count++] = (struct program_limit){RLIMIT_NOFILE, head->open_files};
    /* More than the pids group allows: init and spawner may share the program's uid. */
    limits[count++] =
        (struct program_limit){RLIMIT_NPROC, head->processes + (layers & LAYER_CGROUP ? 8 : 2)};
    if (head->flags & REQUEST_ADDRESS_SPACE)
        limits[count++] = (struct program_limit){RLIMIT_AS, head->memory_bytes};
    return count;
}

static int set_program_limits(const struct run *run)
{
    struct program_limit limits[PROGRAM_LIMITS];
    const size_t count = program_limits(run, limits);
    for (size_t i = 0; i < count; i++)
        if (set_limit((int)limits[i].resource, limits[i].max))
            return -1;
    return 0;
}

static int give_up_privileges(const struct slot *slot)
{
    if (slot->options->privileged &&
        (setgroups(0, NULL) || setresgid(PROGRAM_ID, PROGRAM_ID, PROGRAM_ID) ||
         setresuid(PROGRAM_ID, PROGRAM_ID, PROGRAM_ID)))
        return -1;
    return kernel_drop_capabilities(slot->token);
}

/* Makes the kernel kill the program if memory runs out, never its init or the spawner. Programs
 * can't undo it: their /proc is read-only. A process can write this file only while it is
 * dumpable, which is safe here: no untrusted process exists yet. */
int prefer_for_oom_kill(int proc)
{
    return prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) ||
                   write_text(proc, "self/oom_score_adj", "1000") ||
                   prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
               ? -1
               : 0;
}

static int set_up_stdio(struct run *run)
{
    for (int fd = 0; fd < 3; fd++)
        if (dup2(run->stdio[fd], fd) < 0)
            return -1;
    return kernel_close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
}

/* A session has one controlling terminal, so with TERMINAL the program gets a session of its
 * own. */
static int leave_group(bool terminal)
{
    return terminal ? (setsid() < 0 ? -1 : 0) : setpgid(0, 0);
}

static int start_program(void *argument)
{
    struct run *run = argument;
    const bool terminal = run->request.head.flags & REQUEST_TERMINAL;
    sigset_t none;
    sigemptyset(&none);
    run->exec_step = "program-group";
    if (leave_group(terminal) || sigprocmask(SIG_SETMASK, &none, NULL))
        goto failed;
    run->exec_step = "program-oom-score";
    if (prefer_for_oom_kill(run->slot->proc))
        goto failed;
    run->exec_step = "program-stdio";
    if (set_up_stdio(run))
        goto failed;
    run->exec_step = "program-terminal";
    if (terminal && kernel_ioctl(0, TIOCSCTTY, NULL, run->slot->token))
        goto failed;
    run->exec_step = "program-directory";
    if (chdir("/work"))
        goto failed;
    run->exec_step = "program-limits";
    if (set_program_limits(run))
        goto failed;
    run->exec_step = "program-privileges";
    if (give_up_privileges(run->slot))
        goto failed;
    run->exec_step = "program-exec";
    kernel_execve(run->request.argv[0], run->request.argv, run->request.envp, run->slot->token);
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
    if (layers & LAYER_CGROUP && kernel_unshare(CLONE_NEWCGROUP, run->slot->token))
        return fail(fault, "init-cgroup-namespace");
    if (layers & LAYER_PID) {
        if (proc_mount(run->slot))
            return fail(fault, "init-proc");
    } else if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)) {
        return fail(fault, "init-subreaper");
    }
    return 0;
}

/* Receives one packet with its descriptors. Returns its length, 0 if the channel was closed, -1 on
 * errors. */
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
                             MSG_CMSG_CLOEXEC | (wait ? 0 : MSG_DONTWAIT), run->slot->token);
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

/* Waits for a request; ignores instructions that came too late for the previous run. */
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
        if ((size_t)got == sizeof(struct instruction) && count == 0)
            continue;
        run->slot->shared->requested = true; /* from here on a report answers failures */
        if (wire_parse_request(run->packet, (size_t)got, &run->request))
            return fail_with(fault, "parse-request", EBADMSG);
        bool code = run->request.head.flags & REQUEST_CODE;
        bool data = run->request.head.flags & REQUEST_DATA;
        bool stage = run->request.head.flags & REQUEST_STAGE;
        bool awaits = run->request.head.flags & REQUEST_AWAIT_EVENT;
        bool tells = run->request.head.flags & REQUEST_TELL_END;
        if (count != 3 + code + data + stage + awaits + tells ||
            run->request.head.profile >= (uint32_t)run->slot->options->profile_count ||
            run->request.head.view >= (uint32_t)run->slot->options->views.count)
            return fail_with(fault, "parse-request", EINVAL);
        memcpy(run->stdio, fds, sizeof run->stdio);
        run->code = code ? fds[3] : -1;
        run->data = data ? fds[3 + code] : -1;
        run->staging = stage ? fds[3 + code + data] : -1;
        run->awaited = awaits ? fds[3 + code + data + stage] : -1;
        run->end_event = tells ? fds[3 + code + data + stage + awaits] : -1;
        return 0;
    }
}

/* Replaces what the previous run had at `path` with the mount `tree`, or with nothing if `tree` is
 * -1. If the old mount can't be removed, the run does not start. */
static int attach_mount(struct run *run, const char *path, int tree, bool *mounted)
{
    if (*mounted && kernel_unmount(path, run->slot->token))
        return -1;
    *mounted = false;
    if (tree < 0)
        return 0;
    if (kernel_move_mount(tree, AT_FDCWD, path, run->slot->token))
        return -1;
    *mounted = true;
    return close(tree);
}

static int attach_mounts(struct run *run, struct fault *fault)
{
    struct shared *shared = run->slot->shared;
    const uint32_t flags = run->request.head.flags;
    if (!(flags & REQUEST_SAME_CODE) &&
        attach_mount(run, "/code", run->code, &shared->code_mounted))
        return fail(fault, "attach-code");
    if (!(flags & REQUEST_SAME_DATA) &&
        attach_mount(run, "/data", run->data, &shared->data_mounted))
        return fail(fault, "attach-data");
    return 0;
}

/* Applies the run's quotas to the scratch, which is empty here. */
static int size_scratch(struct run *run, struct fault *fault)
{
    struct shared *shared = run->slot->shared;
    const struct request_head *head = &run->request.head;
    if (shared->scratch_bytes == head->scratch_bytes &&
        shared->scratch_inodes == head->scratch_inodes)
        return 0;
    shared->scratch_bytes = head->scratch_bytes;
    shared->scratch_inodes = head->scratch_inodes;
    if (kernel_unmount("/work", run->slot->token) || scratch_mount(run->slot))
        return fail(fault, "size-scratch");
    return 0;
}

static int prepare_run(struct run *run, struct fault *fault)
{
    run->slot->shared->flags = run->request.head.flags;
    if (view_attach(run->slot, run->request.head.view)) {
        run->slot->shared->init_died = true; /* a part of a view may be left in the root */
        return fail(fault, "attach-view");
    }
    return attach_mounts(run, fault) || size_scratch(run, fault) ? -1 : 0;
}

/* Returns the signal that an instruction asks for, or 0. */
static int signal_of(uint32_t instruction)
{
    const uint32_t number = instruction - INSTRUCTION_SIGNAL;
    return number >= 1 && number <= WIRE_MAX_SIGNAL ? (int)number : 0;
}

static void cancel_before_start(struct run *run)
{
    run->report->ended_ns = now_ns();
    end_run(run, END_CANCELLED, 0);
}

/* With STAGE: puts Python's files into the scratch and waits until it is filled. False: the
 * program is not to be started, and the report or the fault says why. */
static bool stage_scratch(struct run *run, struct fault *fault)
{
    if (run->staging < 0)
        return true;
    const struct instruction note = {WIRE_MAGIC, NOTE_STAGE};
    run->slot->shared->staged = true;
    if (kernel_send(run->slot->channel, &note, sizeof note, -1, run->slot->token)) {
        fail(fault, "send-note");
        return false;
    }
    uint32_t instruction;
    do
        instruction = stage_files(run->slot, run->staging);
    while (signal_of(instruction)); /* there is no program to send it to yet */
    close(run->staging);
    switch (instruction) {
    case INSTRUCTION_START:
        return true;
    case INSTRUCTION_CANCEL:
        cancel_before_start(run);
        return false;
    default:
        run->slot->shared->closed = true;
        return false;
    }
}

/* With AWAIT_EVENT: waits for it. False: the program is not to be started, and the report or the
 * fault says why. */
static bool await_event(struct run *run, struct fault *fault)
{
    if (run->awaited < 0)
        return true;
    struct pollfd watched[] = {{run->awaited, POLLIN, 0}, {run->slot->channel, POLLIN, 0}};
    for (;;) {
        if (ppoll(watched, 2, NULL, NULL) < 0) {
            if (errno == EINTR)
                continue;
            fail(fault, "await-event");
            return false;
        }
        if (!watched[1].revents) {
            close(run->awaited);
            return true;
        }
        const uint32_t instruction = slot_await_instruction(run->slot);
        if (signal_of(instruction))
            continue; /* there is no program to send it to yet */
        if (instruction == INSTRUCTION_CANCEL)
            cancel_before_start(run);
        else
            run->slot->shared->closed = true;
        return false;
    }
}

static int start_run(struct run *run, struct fault *fault)
{
    struct meter *meter = &run->slot->shared->meter;
    const struct request_head *head = &run->request.head;
    const struct standing standing = {warm_alive(run), warm_alive(run) ? run->warm.bytes : 0};
    if (meter_begin(meter, head->memory_bytes, head->processes, head->cpu_permille, &standing,
                    fault))
        return -1;
    if ((run->init_reused || standing.processes) && write_fd_text(run->last_pid, "1"))
        return fail(fault, "reset-pid");
    run->sample_ns = FIRST_CHECK_NS;
    run->cpu = (struct cpu_samples){0};
    run->started_ns = now_ns();
    if (!run->warm.chosen || warm_start_program(run))
        run->program =
            clone(start_program, child_stack(run), CLONE_VM | CLONE_VFORK | SIGCHLD, run);
    if (run->program < 0)
        return fail(fault, "clone-program");
    if (run->exec_error) {
        run->report->ended_ns = now_ns(); /* before the other program of a pair notices it */
        return fail_with(fault, run->exec_step, run->exec_error);
    }
    const bool paired = head->flags & REQUEST_PAIRED;
    run->check_pipes_ns = PIPE_CHECK_NS;
    if (paired && hold_pipes(run, fault))
        return -1;
    for (int fd = paired ? 2 : 0; fd < 3; fd++)
        close(run->stdio[fd]); /* so that readers see end of file when the program has ended */
    return 0;
}

/* ---- init: during the run ---- */

/* Reaps dead processes; true if the program is one of them. */
static bool reap(struct run *run)
{
    struct signalfd_siginfo drained;
    while (read(run->children, &drained, sizeof drained) > 0)
        ;
    int status;
    for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG | __WALL)) > 0;) {
        if (pid == run->warm.pid)
            run->warm.pid = 0;
        if (pid == run->program) {
            if (WIFSIGNALED(status))
                end_run(run, END_SIGNALLED, WTERMSIG(status));
            else
                end_run(run, END_EXITED, WEXITSTATUS(status));
            return true;
        }
    }
    return false;
}

/* Returns the signal that a received packet asks for, or 0. */
static int received_signal(const struct run *run, ssize_t got, int count)
{
    struct instruction instruction;
    if (got != sizeof instruction || count)
        return 0;
    memcpy(&instruction, run->packet, sizeof instruction);
    return instruction.magic == WIRE_MAGIC ? signal_of(instruction.instruction) : 0;
}

/* Sends a signal to the program's process group, or to the program alone if it left the group. */
static void send_signal(const struct run *run, int number)
{
    if (kill(-run->program, number))
        kill(run->program, number);
}

/* Handles one instruction; true if it ends the run. */
static bool cancel_requested(struct run *run)
{
    int fds[WIRE_MAX_FDS], count;
    ssize_t got = receive(run, fds, &count, false);
    if (got < 0 && errno == EAGAIN)
        return false;
    const int number = received_signal(run, got, count);
    if (number) {
        send_signal(run, number);
        return false;
    }
    if (got <= 0)
        run->slot->shared->closed = true;
    end_run(run, END_CANCELLED, 0);
    return true;
}

/* How many cores a program can use at once. */
static uint64_t max_cores(const struct run *run)
{
    const struct options *options = run->slot->options;
    uint64_t cores = !options->cpu_count   ? options->cores
                     : options->share_cpus ? (uint64_t)options->cpu_count
                                           : 1;
    uint64_t quota = (run->request.head.cpu_permille + 999) / 1000;
    return quota && quota < cores ? quota : cores;
}

static uint64_t growing_interval(uint64_t elapsed_ns)
{
    return elapsed_ns < FIRST_CHECK_NS     ? FIRST_CHECK_NS
           : elapsed_ns < LONGEST_CHECK_NS ? elapsed_ns
                                           : LONGEST_CHECK_NS;
}

/* When to check again: at the wall limit, or when the program could reach its CPU limit. */
static uint64_t next_check_ns(const struct run *run, uint64_t cpu_ns, uint64_t elapsed_ns)
{
    const struct request_head *head = &run->request.head;
    uint64_t wait = head->wall_ns - elapsed_ns;
    if (head->flags & REQUEST_PAIRED && run->check_pipes_ns - elapsed_ns < wait)
        wait = run->check_pipes_ns - elapsed_ns;
    if (run->slot->shared->meter.on) {
        uint64_t left = head->cpu_ns - cpu_ns;
        left /= max_cores(run);
        if (left < MIN_TICK_NS)
            left = MIN_TICK_NS;
        if (left < wait)
            wait = left;
        if (growing_interval(elapsed_ns) < wait)
            wait = growing_interval(elapsed_ns);
        if (run->slot->shared->meter.peak < 0 && SAMPLE_NS < wait)
            wait = SAMPLE_NS;
    } else if (SAMPLE_NS < wait) {
        wait = SAMPLE_NS;
    }
    return wait;
}

/* Without cgroups: samples hold the processes of the run together to the limits that rlimits can
 * set for each of them alone. */
static bool sampled_limit_reached(struct run *run)
{
    struct meter *meter = &run->slot->shared->meter;
    struct sample sample = sample_processes();
    const uint64_t cpu_ns = add_cpu_sample(&run->cpu, sample.cpu_ns);
    if (sample.memory_bytes > meter->sampled_peak)
        meter->sampled_peak = sample.memory_bytes;
    if (sample.memory_bytes > run->request.head.memory_bytes)
        end_run(run, END_MEMORY, 0);
    else if (cpu_ns >= run->request.head.cpu_ns)
        end_run(run, END_CPU, 0);
    else
        return false;
    return true;
}

static bool limit_reached(struct run *run, uint64_t *wait)
{
    struct meter *meter = &run->slot->shared->meter;
    uint64_t elapsed = now_ns() - run->started_ns;
    uint64_t cpu = meter_cpu_ns(meter);
    if (elapsed >= run->sample_ns) {
        meter_sample(meter);
        run->sample_ns = elapsed + (meter->peak < 0 ? SAMPLE_NS : growing_interval(elapsed));
    }
    if (meter->on && cpu >= run->request.head.cpu_ns) {
        end_run(run, END_CPU, 0);
        return true;
    }
    if (!meter->v2[PIDS] && meter_refused(meter)) {
        end_run(run, END_PROCESSES, 0);
        return true;
    }
    if (!meter->on && sampled_limit_reached(run))
        return true;
    if (elapsed >= run->request.head.wall_ns) {
        end_run(run, END_WALL, 0);
        return true;
    }
    if (run->request.head.flags & REQUEST_PAIRED && elapsed >= run->check_pipes_ns) {
        release_closed_pipes(run);
        run->check_pipes_ns = elapsed + PIPE_CHECK_NS;
    }
    *wait = next_check_ns(run, cpu, elapsed);
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
        [OOM] = {-1, POLLPRI, 0},
        [REFUSED] = {-1, POLLPRI, 0},
    };
    if (meter->on) {
        watched[OOM].fd = meter->oom_event >= 0 ? meter->oom_event
                          : meter->v2[MEMORY]   ? meter->oom
                                                : -1;
        /* An event descriptor can be read when the event has come. A file of version 2 always can:
         * init would never wait, and its time would count as the program's. */
        if (meter->oom_event >= 0)
            watched[OOM].events = POLLIN;
        watched[REFUSED].fd = meter->v2[PIDS] ? meter->pids_events : -1;
    }
    for (uint64_t wait = next_check_ns(run, 0, 0);;) {
        struct timespec timeout = {(time_t)(wait / 1000000000), (long)(wait % 1000000000)};
        int ready = ppoll(watched, WATCHED, &timeout, NULL);
        if (ready > 0) {
            if (watched[LISTENER].revents & POLLIN && notify_answer(run, -1))
                break;
            /* In version 1 the event means that nothing could be reclaimed. In version 2 it may
             * mean less, so read the counter. */
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
            if (watched[CHANNEL].revents && cancel_requested(run))
                break;
        }
        if (limit_reached(run, &wait))
            break;
    }
    run->report->ended_ns = now_ns();
    run->report->wall_ns = run->report->ended_ns - run->started_ns;
}

/* Without a pid namespace for the run: kills all processes of the slot except the spawner and
 * init itself. */
static void kill_all_processes(void)
{
    for (int status, quiet = 0; !quiet;) {
        kill(-1, SIGKILL);
        quiet = waitpid(-1, &status, __WALL) < 0 && errno == ECHILD;
    }
}

/* Without a cgroup: the kernel's totals for the dead processes. */
static void read_rusage(struct report *report, uint64_t sampled_peak, uint64_t lost_ns)
{
    struct rusage used;
    if (getrusage(RUSAGE_CHILDREN, &used))
        return;
    report->cpu_ns =
        ((uint64_t)used.ru_utime.tv_sec + (uint64_t)used.ru_stime.tv_sec) * 1000000000 +
        ((uint64_t)used.ru_utime.tv_usec + (uint64_t)used.ru_stime.tv_usec) * 1000 + lost_ns;
    report->memory_bytes = (uint64_t)used.ru_maxrss * 1024;
    if (report->memory_bytes < sampled_peak)
        report->memory_bytes = sampled_peak; /* of several processes together */
}

/* Receives the request and starts the program. False: it did not start, and the report or the
 * fault says why. */
static bool begin(struct run *run, struct fault *fault)
{
    return await_request(run, fault) == 0 && prepare_run(run, fault) == 0 &&
           stage_scratch(run, fault) && await_event(run, fault) &&
           warm_prepare(run, fault) == 0 && start_run(run, fault) == 0;
}

/* With TELL_END: starts the run that waits for the end of this one. */
static int tell_end(struct run *run)
{
    const uint64_t one = 1;
    if (run->end_event < 0)
        return 0;
    if (write(run->end_event, &one, sizeof one) != sizeof one)
        return fail(&run->slot->shared->fault, "tell-end");
    close(run->end_event);
    return 0;
}

/* Whether the next run can have the same init: the program ended by itself, and neither another
 * process nor an open file of the run is left. SysV objects end with their namespace, in which the
 * spawner is, too: only the spawner can leave it last. */
static bool can_stay(struct run *run)
{
    const struct slot *slot = run->slot;
    const struct meter *meter = &slot->shared->meter;
    const uint32_t end = run->report->end;
    if (run->last_pid < 0 || run->request.head.flags & NEEDS_NEW_INIT ||
        (end != END_EXITED && end != END_SIGNALLED))
        return false;
    if (meter->v2[MEMORY] && !meter->peak_resets)
        return false; /* the next run needs a new group */
    if (slot->options->layers & LAYER_IPC && kernel_count_ipc(slot->token))
        return false;
    pid_t pid;
    while ((pid = waitpid(-1, NULL, WNOHANG | __WALL)) > 0)
        if (pid == run->warm.pid)
            run->warm.pid = 0;
    if (pid < 0)
        return errno == ECHILD;
    /* If no process with the uid of programs is left, the child is the interpreter. */
    errno = 0;
    return warm_alive(run) && getpriority(PRIO_USER, PROGRAM_ID) < 0 && errno == ESRCH;
}

/* Exits if the program did not start. */
static void begin_or_exit(struct run *run)
{
    struct shared *shared = run->slot->shared;
    struct fault fault = {0};
    if (begin(run, &fault))
        return;
    if (!fault.error)
        _exit(0);
    if (shared->requested)
        report_put_fault(run->report, &fault);
    else
        shared->fault = fault;
    _exit(1);
}

void init_main(void *argument)
{
    struct run *run = argument;
    struct slot *slot = run->slot;
    if (prepare_init(run, &slot->shared->fault))
        _exit(1);
    begin_or_exit(run);
    for (watch(run); can_stay(run); watch(run)) {
        if (run_finish(run, 1 + warm_alive(run)) || tell_end(run) || run_get_ready(run))
            _exit(0);
        run->init_reused = true;
        begin_or_exit(run);
    }
    if (!slot->shared->meter.on || !(slot->options->layers & LAYER_PID))
        kill_all_processes();
    if (!slot->shared->meter.on)
        read_rusage(run->report, slot->shared->meter.sampled_peak, run->cpu.lost_ns);
    _exit(0);
}
