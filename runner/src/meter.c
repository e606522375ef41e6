/* Sets the limits and reads the counters of a slot's control groups, from its spawner and inits. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cgroup.h"
#include "kernel.h"

/* Page cache of files is subtracted from a peak only above this size: to read how much there is
 * takes time. */
#define STALE_BYTES (UINT64_C(8) << 20)
/* The kernel counts memory in batches of 64 pages for each core: less than one may not be seen. */
#define COUNTED_BYTES ((uint64_t)64 * 4096)

/* Between two runs: more memory than this is left of the first one. */
#define LEFT_BYTES   (UINT64_C(4) << 20)
#define SETTLE_TRIES 2000 /* 1 ms apart */

static void close_files(struct meter *m, bool v2_only)
{
    struct {
        int *fd;
        enum controller of;
    } files[] = {
        {&m->memory_limit, MEMORY}, {&m->swap_limit, MEMORY},  {&m->usage, MEMORY},
        {&m->peak, MEMORY},         {&m->memory_stat, MEMORY}, {&m->reclaim, MEMORY},
        {&m->oom, MEMORY},          {&m->oom_event, MEMORY},   {&m->pids_limit, PIDS},
        {&m->pids_now, PIDS},       {&m->pids_events, PIDS},   {&m->cpu_usage, CPUACCT},
        {&m->cpu_quota, CPU}};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        if (*files[i].fd < 0 || (v2_only && !m->v2[files[i].of]))
            continue;
        close(*files[i].fd);
        *files[i].fd = -1;
    }
}

void meter_close(struct meter *meter)
{
    if (!meter->on)
        return;
    close_files(meter, false);
    if (meter->leaf >= 0)
        close(meter->leaf);
    if (meter->slot_dir >= 0)
        close(meter->slot_dir);
}

/* Version 2: replaces the group of the last run with a new one. */
static int renew_leaf(struct meter *m)
{
    char name[32];
    close_files(m, true);
    if (m->leaf >= 0) {
        close(m->leaf);
        m->leaf = -1;
        snprintf(name, sizeof name, "run.%u", m->leaf_number);
        if (unlinkat(m->slot_dir, name, AT_REMOVEDIR))
            return -1;
    }
    snprintf(name, sizeof name, "run.%u", ++m->leaf_number);
    if (mkdirat(m->slot_dir, name, 0755))
        return -1;
    m->leaf = openat(m->slot_dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (m->leaf < 0)
        return -1;
    if (m->v2[MEMORY]) {
        m->memory_limit = openat(m->leaf, "memory.max", O_RDWR | O_CLOEXEC);
        m->swap_limit = openat(m->leaf, "memory.swap.max", O_RDWR | O_CLOEXEC);
        m->usage = openat(m->leaf, "memory.current", O_RDONLY | O_CLOEXEC);
        m->memory_stat = openat(m->leaf, "memory.stat", O_RDONLY | O_CLOEXEC);
        m->reclaim = openat(m->leaf, "memory.reclaim", O_WRONLY | O_CLOEXEC);
        m->oom = openat(m->leaf, "memory.events", O_RDONLY | O_CLOEXEC);
        m->peak = openat(m->leaf, "memory.peak", O_RDWR | O_CLOEXEC);
        m->peak_resets = m->peak >= 0 && write_fd_text(m->peak, "reset") == 0;
        if (m->peak < 0)
            m->peak = openat(m->leaf, "memory.peak", O_RDONLY | O_CLOEXEC);
        if (m->memory_limit < 0 || m->usage < 0 || m->oom < 0)
            return -1;
    }
    if (m->v2[PIDS]) {
        m->pids_limit = openat(m->leaf, "pids.max", O_RDWR | O_CLOEXEC);
        m->pids_now = openat(m->leaf, "pids.current", O_RDONLY | O_CLOEXEC);
        m->pids_events = openat(m->leaf, "pids.events", O_RDONLY | O_CLOEXEC);
        if (m->pids_limit < 0 || m->pids_now < 0)
            return -1;
    }
    if (m->v2[CPU])
        m->cpu_quota = openat(m->leaf, "cpu.max", O_RDWR | O_CLOEXEC);
    if (m->v2[CPUACCT] &&
        (m->cpu_usage = openat(m->leaf, "cpu.stat", O_RDONLY | O_CLOEXEC)) < 0)
        return -1;
    m->quota_permille = 0;
    return 0;
}

static uint64_t count_ooms(struct meter *m)
{
    return read_fd_keyed(m->oom, "oom_kill");
}

static uint64_t count_refusals(struct meter *m)
{
    return m->pids_events >= 0 ? read_fd_keyed(m->pids_events, "max") : 0;
}

int meter_ready(struct meter *m, struct fault *fault)
{
    if (!m->on)
        return 0;
    if (m->slot_dir >= 0 && (m->leaf < 0 || (m->v2[MEMORY] && !m->peak_resets)) &&
        renew_leaf(m))
        return fail(fault, "cgroup-leaf");
    uint64_t held = read_fd_number(m->usage);
    if (!m->own_known) { /* may be 0: in version 2 the spawner is in another group */
        m->own_bytes = held;
        m->own_known = true;
    }
    if (m->oom_event >= 0) {
        uint64_t drained;
        (void)!read(m->oom_event, &drained, sizeof drained);
    }
    m->base_ooms = count_ooms(m);
    m->base_refusals = count_refusals(m);
    return 0;
}

static int set_memory_limit(struct meter *m, uint64_t bytes)
{
    if (m->v2[MEMORY]) {
        if (m->swap_limit >= 0 && write_fd_text(m->swap_limit, "0"))
            return -1;
        return write_fd_number(m->memory_limit, bytes);
    }
    /* Version 1 requires that the limit never exceeds the limit with swap, so the order depends
     * on whether they grow or shrink. */
    if (write_fd_number(m->memory_limit, bytes)) {
        if (m->swap_limit < 0 || write_fd_number(m->swap_limit, bytes) ||
            write_fd_number(m->memory_limit, bytes))
            return -1;
    }
    return m->swap_limit < 0 ? 0 : write_fd_number(m->swap_limit, bytes);
}

static int set_quota(struct meter *m, uint32_t permille)
{
    if (permille == m->quota_permille)
        return 0;
    if (m->cpu_quota < 0) {
        /* Pinning already holds a program to whole cores; nothing else holds it to less. */
        errno = EOPNOTSUPP;
        return permille && permille < 1000 ? -1 : 0;
    }
    char text[64];
    if (m->v2[CPU] && permille)
        snprintf(text, sizeof text, "%u 100000", permille * 100);
    else if (m->v2[CPU])
        snprintf(text, sizeof text, "max 100000");
    else
        snprintf(text, sizeof text, "%d", permille ? (int)permille * 100 : -1);
    m->quota_permille = permille;
    return write_fd_text(m->cpu_quota, text);
}

static int reset_peak(struct meter *m)
{
    return m->peak_resets ? write_fd_text(m->peak, m->v2[MEMORY] ? "reset" : "0") : 0;
}

int meter_begin(struct meter *m, uint64_t memory_bytes, uint32_t processes,
                uint32_t cpu_permille, const struct standing *standing, struct fault *fault)
{
    m->sampled_peak = m->sampled_cache = m->sampled_usage = m->sampled_highest = 0;
    if (!m->on)
        return 0;
    m->base_bytes = read_fd_number(m->usage);
    m->standing_bytes = standing->bytes;
    if (set_memory_limit(m, memory_bytes + m->base_bytes))
        return fail(fault, "limit-memory");
    /* The group also contains init and, in version 1, the spawner. */
    if (write_fd_number(m->pids_limit, processes + standing->processes + (m->v2[PIDS] ? 1 : 2)))
        return fail(fault, "limit-processes");
    if (set_quota(m, cpu_permille))
        return fail(fault, "limit-cpu-quota");
    if (reset_peak(m))
        return fail(fault, "reset-peak");
    m->base_cpu_ns = 0;
    m->base_cpu_ns = meter_cpu_ns(m);
    return 0;
}

uint64_t meter_cpu_ns(struct meter *m)
{
    if (!m->on)
        return 0;
    uint64_t now = m->v2[CPUACCT] ? read_fd_keyed(m->cpu_usage, "usage_usec") * 1000
                                  : read_fd_number(m->cpu_usage);
    return now > m->base_cpu_ns ? now - m->base_cpu_ns : 0;
}

bool meter_oom(struct meter *m)
{
    return m->on && count_ooms(m) > m->base_ooms;
}

bool meter_refused(struct meter *m)
{
    return m->on && count_refusals(m) > m->base_refusals;
}

/* Returns how much of the memory is page cache of files, not memory of the program. Both numbers
 * come from one read, because the kernel may update them between two. */
static uint64_t cached_bytes(struct meter *m)
{
    char text[8192];
    if (m->memory_stat < 0 || read_fd_text(m->memory_stat, text, sizeof text) <= 0)
        return 0;
    uint64_t files = find_keyed(text, m->v2[MEMORY] ? "file" : "cache");
    uint64_t shared = find_keyed(text, "shmem");
    return files > shared ? files - shared : 0;
}

uint64_t meter_held_bytes(struct meter *m)
{
    const uint64_t held = read_fd_number(m->usage), cached = cached_bytes(m);
    return held > cached ? held - cached : 0;
}

/* Returns the peak since the last sample; `now` if it is not known. */
static uint64_t recent_peak(struct meter *m, uint64_t now)
{
    if (m->peak < 0) /* before Linux 5.19 */
        return now;
    const uint64_t peak = read_fd_number(m->peak);
    if (m->peak_resets)
        return peak;
    const bool higher = peak > m->sampled_highest;
    m->sampled_highest = peak;
    return higher ? peak : now;
}

/* The kernel's peak includes page cache, and no file has the peak without it. So this takes the
 * peak since the last sample, and subtracts the cache at the begin or at the end of that time: what
 * a program reads later does not lower what it used before. */
static void sample_memory(struct meter *m)
{
    const uint64_t now = read_fd_number(m->usage);
    const uint64_t peak = recent_peak(m, now);
    if (now == m->sampled_usage && peak == now)
        return;
    m->sampled_usage = now;
    uint64_t own = m->base_bytes;
    if (peak > own + STALE_BYTES) {
        const uint64_t cached = cached_bytes(m);
        const uint64_t others = m->own_bytes + m->standing_bytes;
        own = others + (cached > m->sampled_cache ? cached : m->sampled_cache);
        if (now > others + cached && now - others - cached > m->sampled_peak)
            m->sampled_peak = now - others - cached;
        m->sampled_cache = cached;
    }
    if (peak > own && peak - own > m->sampled_peak)
        m->sampled_peak = peak - own;
}

void meter_sample(struct meter *m)
{
    if (!m->on)
        return;
    sample_memory(m);
    (void)reset_peak(m);
}

bool meter_end(struct meter *m, unsigned inits, struct usage *usage)
{
    *usage = (struct usage){0};
    if (!m->on)
        return true;
    usage->cpu_ns = meter_cpu_ns(m);
    usage->oom_kills = (uint32_t)(count_ooms(m) - m->base_ooms);
    usage->process_refusals = (uint32_t)(count_refusals(m) - m->base_refusals);
    sample_memory(m);
    usage->memory_bytes = m->sampled_peak > COUNTED_BYTES ? m->sampled_peak : COUNTED_BYTES;
    return read_fd_number(m->pids_now) == inits + (m->v2[PIDS] ? 0 : 1);
}

/* The kernel frees page tables, sockets and directory entries only after all cores have passed a
 * certain point, which can take longer than the start of the next run. They would be in its
 * base_bytes: it could use as much more memory as is freed later, and would seem to use less. */
void meter_settle(struct meter *m)
{
    if (!m->on)
        return;
    for (int tries = 0; tries < SETTLE_TRIES; tries++) {
        const uint64_t used = read_fd_number(m->usage);
        const uint64_t most = m->own_bytes + m->standing_bytes + LEFT_BYTES;
        /* Page cache stays if programs of other boxes use it. */
        if (used <= most || used <= most + cached_bytes(m))
            return;
        usleep(1000);
    }
}
