/* Control groups, version 1, 2 or mixed, chosen controller by controller.
 *
 * The runner makes one directory `deemster.<pid>` in each hierarchy that it uses, below its
 * own group, and holds a lock on it: a directory that can be locked belongs to a dead
 * runner and is swept at the next start. In it each slot has `s<n>`.
 *
 * Version 1: the slot's spawner is moved into `s<n>` once, at the slot's making, and every
 * run is born there; counters are reset between runs. Version 2: the spawner sits in
 * `s<n>/keep`, and runs are born in `s<n>/run.<k>` by CLONE_INTO_CGROUP; that leaf is used
 * again where memory.peak can be reset (Linux 6.12), and otherwise replaced between runs.
 * No process is ever moved on a run's path: a move costs milliseconds, a birth nothing. */
#ifndef DEEMSTER_CGROUP_H
#define DEEMSTER_CGROUP_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "fault.h"

enum controller { MEMORY, PIDS, CPU, CPUACCT, CONTROLLERS };

struct hierarchy {
    int version;
    char path[PATH_MAX]; /* its deemster.<pid> */
    int dir;             /* of the same, locked */
};

struct cgroups {
    int count;
    struct hierarchy list[CONTROLLERS];
    int of[CONTROLLERS]; /* index in list, or -1: only CPU, the quota, may be missing */
};

/* What a spawner holds of its slot's groups: descriptors, and what it last saw there. -1:
 * not there. Lies in memory shared by the spawner and its inits, because both write to it. */
struct meter {
    bool on;
    bool v2[CONTROLLERS];
    int slot_dir; /* version 2: s<n>, in which leaves are made */
    int leaf;     /* version 2: run.<k> */
    unsigned leaf_number;
    bool peak_resets;
    int memory_limit, swap_limit, usage, peak, memory_stat, reclaim;
    int oom, oom_event;
    int pids_limit, pids_now, pids_events;
    int cpu_usage, cpu_quota;
    bool own_known;
    uint64_t own_bytes; /* what the slot itself holds before its first run */
    uint64_t base_bytes, base_cpu_ns, base_ooms, base_refusals, sampled_peak;
    uint32_t quota_permille;
};

struct usage {
    uint64_t cpu_ns;
    uint64_t memory_bytes;
    uint32_t oom_kills;
    uint32_t process_refusals;
};

/* Runner side. */
int cgroups_open(struct cgroups *groups, bool privileged, struct fault *fault);
void cgroups_close(struct cgroups *groups);
int cgroups_make_slot(struct cgroups *groups, unsigned slot, uid_t owner, struct meter *meter,
                      struct fault *fault);
int cgroups_enter_slot(struct cgroups *groups, unsigned slot, pid_t spawner,
                       struct fault *fault);
void cgroups_remove_slot(struct cgroups *groups, unsigned slot);
void meter_close(struct meter *meter);

/* Spawner side, before it makes the next init. */
int meter_ready(struct meter *meter, struct fault *fault);
/* Init side, just before and during a run. */
int meter_begin(struct meter *meter, uint64_t memory_bytes, uint32_t processes,
                uint32_t cpu_permille, struct fault *fault);
uint64_t meter_cpu_ns(struct meter *meter);
bool meter_oom(struct meter *meter);
bool meter_refused(struct meter *meter);
void meter_sample(struct meter *meter);
/* Spawner side, after all of the run is dead. False: something still lives in the group. */
bool meter_end(struct meter *meter, struct usage *usage);

#endif
