/* Serves one slot: makes an init ahead of every run, waits for its end, reads the counters, sends
 * the report, leaves nothing behind, and begins again.
 */
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

#define PROC_STACK  16  /* runs until their /proc mounts are taken away */
#define LEAVE_TRIES 200 /* × 1 ms for the dead to leave the group's count */

/* The scratch's first state, which tells whether a run touched it. */
struct scratch_state {
    struct timespec changed;
    mode_t mode;
    uint64_t blocks, inodes;
};

/* What the spawner remembers from run to run. */
struct serving {
    struct scratch_state clean;
    int lowest; /* the lowest run's /proc still mounted */
    int stacked;
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

/* A used scratch is not emptied but replaced: that takes the same time whatever a program
 * left in it. */
static int renew_scratch(struct slot *slot, struct scratch_state *clean)
{
    struct scratch_state now;
    if (see_scratch(&now))
        return -1;
    bool staged = slot->shared->staged;
    slot->shared->staged = false;
    /* A new size means a new mount, made by init: its first state was not seen, so make
     * another. */
    if (same_scratch(&now, clean) && !staged)
        return 0;
    if (kernel_unmount("/work", slot->word) || scratch_mount(slot))
        return -1;
    return see_scratch(clean);
}

int slot_lend_scratch(const struct slot *slot, const void *message, size_t bytes)
{
    int scratch = open("/work", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (scratch < 0)
        return -1;
    int result = kernel_send(slot->channel, message, bytes, scratch, slot->word);
    int saved = errno;
    close(scratch);
    errno = saved;
    return result;
}

uint32_t slot_await_order(const struct slot *slot)
{
    struct order order;
    struct iovec part = {&order, sizeof order};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    ssize_t got;
    do
        got = kernel_recvmsg(slot->channel, &message, 0, slot->word);
    while (got < 0 && errno == EINTR);
    return got == sizeof order && !(message.msg_flags & MSG_TRUNC) && order.magic == WIRE_MAGIC
               ? order.order
               : 0;
}

/* Tells how the run ended. With HOLD the scratch goes along, and stays until Python has read
 * what it wants of it. */
static int send_report(struct slot *slot)
{
    const struct report *report = &slot->shared->report;
    if (!(slot->shared->flags & REQUEST_HOLD))
        return kernel_send(slot->channel, report, sizeof *report, -1, slot->word);
    if (slot_lend_scratch(slot, report, sizeof *report))
        return -1;
    for (uint32_t order = 0; order != ORDER_RELEASE;)
        if (!(order = slot_await_order(slot)))
            return -1;
    return 0;
}

/* Reads the counters once all of the run is dead. Dying processes leave the count a moment
 * after they are reaped. */
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
    pid_t init =
        kernel_lend(layers & LAYER_PID ? CLONE_NEWPID : 0,
                    shared->meter.on ? shared->meter.leaf : -1, init_main, run, slot->word);
    if (init < 0)
        return fail(&shared->fault, "spawn-init");
    int status;
    while (waitpid(init, &status, __WALL) < 0)
        if (errno != EINTR)
            return fail(&shared->fault, "wait-for-init");
    if (shared->closed || shared->fault.error)
        return -1;
    if ((!WIFEXITED(status) || WEXITSTATUS(status)) && shared->report.end != END_FAULT) {
        /* Out of memory, the kernel may pick init itself; anything else is our fault. */
        struct fault fault = {0};
        shared->init_died = true;
        fail_with(&fault, "init-died", ECHILD);
        report_put_fault(&shared->report, &fault);
        if (meter_oom(&shared->meter))
            shared->report.end = END_MEMORY;
    }
    return 0;
}

/* The /proc of a dead run shows nothing, and the next run's covers it. An unmount costs as much
 * as half the rest of a run, however many mounts it takes away, so the stack goes at once when it
 * is high enough. A path always leads to the top of a stack: to take all of it, it is moved below
 * a mount of its own, and that one is unmounted. */
static int take_away_proc(struct serving *serving, uint64_t word)
{
    if (serving->stacked++ == 0) {
        serving->lowest = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
        return serving->lowest < 0 ? -1 : 0;
    }
    if (serving->stacked < PROC_STACK)
        return 0;
    serving->stacked = 0;
    bool gone = kernel_mount("tmpfs", "/run", "tmpfs", 0, "size=4k,nr_inodes=4", word) == 0 &&
                mkdir("/run/stack", 0700) == 0 &&
                kernel_move_mount(serving->lowest, AT_FDCWD, "/run/stack", word) == 0 &&
                kernel_unmount("/run", word) == 0;
    close(serving->lowest);
    return gone ? 0 : -1;
}

/* Leaves nothing of the run behind. */
static int clean_up(struct slot *slot, struct serving *serving)
{
    const unsigned layers = slot->options->layers;
    if (layers & LAYER_PID && take_away_proc(serving, slot->word))
        return fail(&slot->shared->fault, "unmount-proc");
    if (layers & LAYER_IPC && kernel_count_ipc(slot->word) &&
        kernel_unshare(CLONE_NEWIPC, slot->word))
        return fail(&slot->shared->fault, "renew-ipc");
    if (renew_scratch(slot, &serving->clean))
        return fail(&slot->shared->fault, "renew-scratch");
    return 0;
}

static int serve(struct slot *slot, struct run *run)
{
    struct shared *shared = slot->shared;
    struct serving serving = {0};
    if (see_scratch(&serving.clean))
        return fail(&shared->fault, "begin-serving");
    run->slot = slot;
    run->report = &shared->report;
    for (;;) {
        memset(&shared->report, 0, sizeof shared->report);
        shared->report.magic = WIRE_MAGIC;
        shared->flags = 0;
        shared->requested = false;
        run->exec_error = 0; /* its memory was the last init's too */
        if (meter_ready(&shared->meter, &shared->fault) || spawn_and_reap(slot, run))
            return shared->closed ? 0 : -1;
        bool empty = collect_usage(slot);
        if (send_report(slot))
            return 0;
        if (!empty)
            return fail_with(&shared->fault, "group-not-empty", EBUSY);
        if (shared->init_died) /* and may have left anything */
            return fail_with(&shared->fault, "init-died", ECHILD);
        if (clean_up(slot, &serving))
            return -1;
    }
}

int slot_serve(struct slot *slot)
{
    struct run *run = calloc(1, sizeof *run); /* too large for the stack that init borrows */
    if (!run)
        return fail(&slot->shared->fault, "begin-serving");
    int result = serve(slot, run);
    free(run);
    return result;
}
