/* The spawner's loop: makes an init before each run arrives and waits until that has ended. After
 * each run, the spawner (or an init that stays for the next run, see init.c) reads the counters,
 * sends the report, and removes everything that the run left.
 *
 * Processes and privileges
 *   The spawner is root of the slot's user namespace. It never runs while an init exists (see
 *   kernel_vfork), so the two never use the channel or the shared memory at the same time.
 *
 * Descriptors
 *   the slot's channel, the listener of the notify filter, the slot's /proc, its ns_last_pid, the
 *   files of the meter, the file of uids.c, and the lowest /proc that is still mounted for a dead
 *   init. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "init.h"
#include "kernel.h"

#define PROC_STACK  16  /* inits until their /proc mounts are unmounted */
#define LEAVE_TRIES 200 /* 1 ms apart, until the group no longer counts dead processes */

/* The /proc mounts of dead inits, one on top of another. */
struct proc_stack {
    int lowest;
    int count;
};

static int read_scratch_state(struct scratch_state *state)
{
    struct stat directory;
    struct statfs system;
    if (stat("/work", &directory) || statfs("/work", &system))
        return -1;
    *state = (struct scratch_state){
        .changed = directory.st_ctim,
        .written = directory.st_mtim,
        .used = directory.st_atim,
        .mode = directory.st_mode,
        .blocks = system.f_blocks - system.f_bfree,
        .inodes = system.f_files - system.f_ffree,
    };
    return 0;
}

static bool same_time(struct timespec a, struct timespec b)
{
    return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

/* Before Linux 6.13, what happens within one tick of the clock has the same time of change. So this
 * also compares the times that a program can set itself (without root the scratch is its own). */
static bool same_scratch(const struct scratch_state *a, const struct scratch_state *b)
{
    return same_time(a->changed, b->changed) && same_time(a->written, b->written) &&
           same_time(a->used, b->used) && a->mode == b->mode && a->blocks == b->blocks &&
           a->inodes == b->inodes;
}

/* Replaces a used scratch instead of emptying it, which takes the same time whatever a program
 * left in it. */
static int renew_scratch(struct slot *slot, struct scratch_state *clean)
{
    struct scratch_state now;
    if (read_scratch_state(&now))
        return -1;
    bool staged = slot->shared->staged;
    slot->shared->staged = false;
    /* If init mounted a scratch with other quotas, its state differs too, so it is replaced. */
    if (same_scratch(&now, clean) && !staged)
        return 0;
    if (kernel_unmount("/work", slot->token) || scratch_mount(slot))
        return -1;
    return read_scratch_state(clean);
}

int slot_send_scratch(const struct slot *slot, const void *message, size_t bytes)
{
    int scratch = open("/work", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (scratch < 0)
        return -1;
    int result = kernel_send(slot->channel, message, bytes, scratch, slot->token);
    int saved = errno;
    close(scratch);
    errno = saved;
    return result;
}

uint32_t slot_await_instruction(const struct slot *slot)
{
    struct instruction instruction;
    struct iovec part = {&instruction, sizeof instruction};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    ssize_t got;
    do
        got = kernel_recvmsg(slot->channel, &message, 0, slot->token);
    while (got < 0 && errno == EINTR);
    return got == sizeof instruction && !(message.msg_flags & MSG_TRUNC) &&
                   instruction.magic == WIRE_MAGIC
               ? instruction.instruction
               : 0;
}

/* Sends the report. With COLLECT it also sends the scratch, and waits until Python has read it. */
static int send_report(struct slot *slot)
{
    const struct report *report = &slot->shared->report;
    if (!(slot->shared->flags & REQUEST_COLLECT))
        return kernel_send(slot->channel, report, sizeof *report, -1, slot->token);
    if (slot_send_scratch(slot, report, sizeof *report))
        return -1;
    for (uint32_t instruction = 0; instruction != INSTRUCTION_RELEASE;)
        if (!(instruction = slot_await_instruction(slot)))
            return -1;
    return 0;
}

/* Reads the counters after the run's processes are dead. The group counts a process for a moment
 * after it was reaped, so this waits until the count is right. */
static bool collect_usage(struct slot *slot, unsigned inits)
{
    struct report *report = &slot->shared->report;
    struct usage usage;
    bool empty = meter_end(&slot->shared->meter, inits, &usage);
    for (int tries = 0; !empty && tries < LEAVE_TRIES; tries++) {
        usleep(1000);
        empty = meter_end(&slot->shared->meter, inits, &usage);
    }
    if (slot->shared->meter.on) {
        report->cpu_ns = usage.cpu_ns;
        report->memory_bytes = usage.memory_bytes;
        report->oom_kills = usage.oom_kills;
        report->process_refusals = usage.process_refusals;
    }
    return empty;
}

/* Opens the file with which an init gives its next program pid 2 again. Returns -1 where every run
 * needs an init of its own: without cgroups init can't tell that nothing is left, and without root
 * it has the uid of the programs. */
static int open_last_pid(const struct slot *slot)
{
    const struct options *options = slot->options;
    if (!options->privileged || !(options->layers & LAYER_PID) || !slot->shared->meter.on)
        return -1;
    int file = openat(slot->proc, "sys/kernel/ns_last_pid", O_WRONLY | O_CLOEXEC);
    if (file >= 0 && write_fd_text(file, "1")) { /* here it sets the spawner's own next pid */
        close(file);
        return -1;
    }
    return file;
}

/* Makes an init and waits until it and all processes of its run are dead. */
static int spawn_and_reap(struct slot *slot, struct run *run)
{
    const unsigned layers = slot->options->layers;
    struct shared *shared = slot->shared;
    pid_t init =
        kernel_vfork(layers & LAYER_PID ? CLONE_NEWPID : 0,
                     shared->meter.on ? shared->meter.leaf : -1, init_main, run, slot->token);
    if (init < 0)
        return fail(&shared->fault, "spawn-init");
    int status;
    while (waitpid(init, &status, __WALL) < 0)
        if (errno != EINTR)
            return fail(&shared->fault, "wait-for-init");
    if (shared->closed || shared->fault.error)
        return -1;
    if ((!WIFEXITED(status) || WEXITSTATUS(status)) && shared->report.end != END_FAULT) {
        /* If memory runs out, the kernel may kill init itself; any other death is a sandbox fault. */
        struct fault fault = {0};
        shared->init_died = true;
        fail_with(&fault, "init-died", ECHILD);
        report_put_fault(&shared->report, &fault);
        if (meter_oom(&shared->meter))
            shared->report.end = END_MEMORY;
    }
    return 0;
}

/* The /proc of a dead init is empty, and that of the next one covers it. An unmount takes half as
 * long as the rest of a run, however many mounts it removes, so this removes sixteen at once. A path
 * always leads to the topmost mount: to remove the whole stack, this moves it below another mount
 * and unmounts that one. */
static int unmount_proc_stack(struct proc_stack *stack, uint64_t token)
{
    if (stack->count++ == 0) {
        stack->lowest = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
        return stack->lowest < 0 ? -1 : 0;
    }
    if (stack->count < PROC_STACK)
        return 0;
    stack->count = 0;
    bool gone = kernel_mount("tmpfs", "/run", "tmpfs", 0, "size=4k,nr_inodes=4", token) == 0 &&
                mkdir("/run/stack", 0700) == 0 &&
                kernel_move_mount(stack->lowest, AT_FDCWD, "/run/stack", token) == 0 &&
                kernel_unmount("/run", token) == 0;
    close(stack->lowest);
    return gone ? 0 : -1;
}

/* Removes everything that the run left, except processes. */
static int clean_up(struct run *run)
{
    struct slot *slot = run->slot;
    const struct options *options = slot->options;
    if (options->layers & LAYER_IPC && kernel_count_ipc(slot->token) &&
        kernel_unshare(CLONE_NEWIPC, slot->token))
        return fail(&slot->shared->fault, "renew-ipc");
    if (renew_scratch(slot, &run->clean))
        return fail(&slot->shared->fault, "renew-scratch");
    const bool one_core = options->cpu_count && !options->share_cpus;
    if (!options->keep_page_cache && page_cache_give_back(&slot->shared->meter, one_core))
        return fail(&slot->shared->fault, "give-back-page-cache");
    meter_settle(&slot->shared->meter);
    return 0;
}

int run_get_ready(struct run *run)
{
    struct shared *shared = run->slot->shared;
    memset(&shared->report, 0, sizeof shared->report);
    shared->report.magic = WIRE_MAGIC;
    shared->flags = 0;
    shared->requested = false;
    run->exec_error = 0; /* the last run used the same memory */
    return meter_ready(&shared->meter, &shared->fault);
}

int run_finish(struct run *run, unsigned inits)
{
    struct shared *shared = run->slot->shared;
    bool empty = collect_usage(run->slot, inits);
    if (send_report(run->slot)) {
        shared->closed = true;
        return -1;
    }
    if (!empty)
        return fail_with(&shared->fault, "group-not-empty", EBUSY);
    if (shared->init_died) /* it may have left anything */
        return fail_with(&shared->fault, "init-died", ECHILD);
    return clean_up(run);
}

static int serve(struct slot *slot, struct run *run)
{
    struct shared *shared = slot->shared;
    struct proc_stack stack = {0};
    if (read_scratch_state(&run->clean))
        return fail(&shared->fault, "begin-serving");
    run->slot = slot;
    run->report = &shared->report;
    run->last_pid = open_last_pid(slot);
    for (;;) {
        run->init_reused = false;
        run->warm.pid = 0; /* it died with its init */
        if (run_get_ready(run) || spawn_and_reap(slot, run) || run_finish(run, 0))
            return shared->closed ? 0 : -1;
        if (slot->options->layers & LAYER_PID && unmount_proc_stack(&stack, slot->token))
            return fail(&shared->fault, "unmount-proc");
    }
}

int slot_serve(struct slot *slot)
{
    struct run *run = calloc(1, sizeof *run); /* too large for the stack that init shares */
    if (!run)
        return fail(&slot->shared->fault, "begin-serving");
    int result = serve(slot, run);
    free(run);
    return result;
}
