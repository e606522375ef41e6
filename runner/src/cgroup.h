/* Control groups of version 1, version 2 or both; the version is chosen for each controller.
 *
 * The runner creates a directory `deemster.<pid>.<n>` in each hierarchy that it uses, below its
 * own group, and holds a lock on it. A directory that can be locked belongs to a dead runner;
 * the next runner removes it. Each slot has a directory `s<n>` in it.
 *
 * Version 1: the slot's spawner is moved into `s<n>` once, when the slot is made. Every run
 * starts there, and counters are reset between runs. Version 2: the spawner is in `s<n>/keep`,
 * and CLONE_INTO_CGROUP starts each run in `s<n>/run.<k>`. That group is used again if
 * memory.peak can be reset (Linux 6.12), and is replaced between runs if not.
 *
 * A run never moves a process: a move costs milliseconds, starting in a group costs nothing. */
#ifndef DEEMSTER_CGROUP_H
#define DEEMSTER_CGROUP_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "fault.h"

enum controller { MEMORY, PIDS, CPU, CPUACCT, IO, CONTROLLERS };

struct hierarchy {
    int version;
    char path[PATH_MAX]; /* of deemster.<pid>.<n> in this hierarchy */
    int dir;             /* the same directory, locked */
};

struct cgroups {
    int count;
    struct hierarchy list[CONTROLLERS];
    int of[CONTROLLERS]; /* index in list, or -1: only CPU (the quota) and IO may be missing */
    uint64_t read_bytes_per_s; /* of each slot, from each disk; 0: not limited */
};

/* A slot's groups, as open descriptors (-1: not available), and the counters as of the last
 * run. It is in memory that the spawner shares with its inits, because both write to it. */
struct meter {
    bool on;
    bool v2[CONTROLLERS];
    int slot_dir; /* version 2: s<n>, the parent of the runs' groups */
    int leaf;     /* version 2: run.<k> */
    unsigned leaf_number;
    bool peak_resets;
    int memory_limit, swap_limit, usage, peak, memory_stat, reclaim;
    int oom, oom_event;
    int pids_limit, pids_now, pids_events;
    int cpu_usage, cpu_quota;
    bool own_known;
    uint64_t own_bytes; /* memory of the slot itself, before its first run */
    uint64_t base_bytes, base_cpu_ns, base_ooms, base_refusals;
    uint64_t standing_bytes;
    /* The largest use of memory by programs so far, without page cache, and the last sample. */
    uint64_t sampled_peak, sampled_cache, sampled_usage, sampled_highest;
    uint32_t quota_permille;
};

struct usage {
    uint64_t cpu_ns;
    uint64_t memory_bytes;
    uint32_t oom_kills;
    uint32_t process_refusals;
};

/* In the runner. The caller has set read_bytes_per_s. */
int cgroups_open(struct cgroups *groups, bool privileged, struct fault *fault);
/* Without the cpu controller it does nothing. */
int cgroups_lower_weight(struct cgroups *groups);
void cgroups_close(struct cgroups *groups);
int cgroups_make_slot(struct cgroups *groups, unsigned slot, uid_t owner, struct meter *meter,
                      struct fault *fault);
int cgroups_enter_slot(struct cgroups *groups, unsigned slot, pid_t spawner,
                       struct fault *fault);
void cgroups_remove_slot(struct cgroups *groups, unsigned slot);
void meter_close(struct meter *meter);
/* Sets the same limit for each disk of the machine, where the kernel can. `group` is a slot's directory
 * in the hierarchy with the blkio (version 1) or io (version 2) controller. */
void limit_reads(int group, int version, uint64_t bytes_per_s);

/* Before the next run. */
int meter_ready(struct meter *meter, struct fault *fault);
/* A waiting interpreter in the run's group. */
struct standing {
    unsigned processes;
    uint64_t bytes; /* of memory; a copy's own pages count as the program's */
};

/* In init, just before and during a run. */
int meter_begin(struct meter *meter, uint64_t memory_bytes, uint32_t processes,
                uint32_t cpu_permille, const struct standing *standing, struct fault *fault);
/* Memory of the whole group, without page cache. */
uint64_t meter_held_bytes(struct meter *meter);
uint64_t meter_cpu_ns(struct meter *meter);
bool meter_oom(struct meter *meter);
bool meter_refused(struct meter *meter);
void meter_sample(struct meter *meter);
/* After the run's processes are dead, while `inits` processes other than the spawner are alive.
 * False: the group still has other members. */
bool meter_end(struct meter *meter, unsigned inits, struct usage *usage);
/* After that. `one_core`: the program can't have run on another than this. */
int page_cache_give_back(struct meter *meter, bool one_core);
/* After that: waits until the kernel has freed the memory of the run. */
void meter_settle(struct meter *meter);

#endif
