/* The spawner's loop: makes an init before each run arrives, waits until the run has ended, reads
 * the counters, sends the report, and removes everything that the run left.
 *
 * Processes and privileges
 *   The spawner is root of the slot's user namespace. It never runs while an init exists (see
 *   kernel_vfork), so the two never use the channel or the shared memory at the same time.
 *
 * Descriptors
 *   the slot's channel, the listener of the notify filter, the slot's /proc, the files of the
 *   meter, the file of uids.c, and the lowest /proc that is still mounted for a dead run. */
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

#define PROC_STACK  16  /* runs until their /proc mounts are unmounted */
#define LEAVE_TRIES 200 /* 1 ms apart, until the group no longer counts dead processes */

/* The state of an unused scratch, to tell whether a run has changed it. */
struct scratch_state {
    struct timespec changed;
    mode_t mode;
    uint64_t blocks, inodes;
};

/* What the spawner remembers between runs. */
struct serving {
    struct scratch_state clean;
    int lowest; /* the lowest /proc in the stack of dead runs */
    int stacked;
};

static int read_scratch_state(struct scratch_state *state)
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

/* The /proc of a dead run is empty, and that of the next run covers it. An unmount takes half as
 * long as the rest of a run, however many mounts it removes, so this removes sixteen at once. A path
 * always leads to the topmost mount: to remove the whole stack, this moves it below another mount
 * and unmounts that one. */
static int unmount_proc_stack(struct serving *serving, uint64_t token)
{
    if (serving->stacked++ == 0) {
        serving->lowest = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
        return serving->lowest < 0 ? -1 : 0;
    }
    if (serving->stacked < PROC_STACK)
        return 0;
    serving->stacked = 0;
    bool gone = kernel_mount("tmpfs", "/run", "tmpfs", 0, "size=4k,nr_inodes=4", token) == 0 &&
                mkdir("/run/stack", 0700) == 0 &&
                kernel_move_mount(serving->lowest, AT_FDCWD, "/run/stack", token) == 0 &&
                kernel_unmount("/run", token) == 0;
    close(serving->lowest);
    return gone ? 0 : -1;
}

/* Removes everything that the run left. */
static int clean_up(struct slot *slot, struct serving *serving)
{
    const unsigned layers = slot->options->layers;
    if (layers & LAYER_PID && unmount_proc_stack(serving, slot->token))
        return fail(&slot->shared->fault, "unmount-proc");
    if (layers & LAYER_IPC && kernel_count_ipc(slot->token) &&
        kernel_unshare(CLONE_NEWIPC, slot->token))
        return fail(&slot->shared->fault, "renew-ipc");
    if (renew_scratch(slot, &serving->clean))
        return fail(&slot->shared->fault, "renew-scratch");
    const struct options *options = slot->options;
    const bool one_core = options->cpu_count && !options->share_cpus;
    if (!options->keep_page_cache && page_cache_give_back(&slot->shared->meter, one_core))
        return fail(&slot->shared->fault, "give-back-page-cache");
    return 0;
}

static int serve(struct slot *slot, struct run *run)
{
    struct shared *shared = slot->shared;
    struct serving serving = {0};
    if (read_scratch_state(&serving.clean))
        return fail(&shared->fault, "begin-serving");
    run->slot = slot;
    run->report = &shared->report;
    for (;;) {
        memset(&shared->report, 0, sizeof shared->report);
        shared->report.magic = WIRE_MAGIC;
        shared->flags = 0;
        shared->requested = false;
        run->exec_error = 0; /* the last init used the same memory */
        if (meter_ready(&shared->meter, &shared->fault) || spawn_and_reap(slot, run))
            return shared->closed ? 0 : -1;
        bool empty = collect_usage(slot);
        if (send_report(slot))
            return 0;
        if (!empty)
            return fail_with(&shared->fault, "group-not-empty", EBUSY);
        if (shared->init_died) /* it may have left anything */
            return fail_with(&shared->fault, "init-died", ECHILD);
        if (clean_up(slot, &serving))
            return -1;
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
