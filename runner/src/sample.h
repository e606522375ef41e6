/* What the processes of a run use, where there is no cgroup to ask. */
#ifndef DEEMSTER_SAMPLE_H
#define DEEMSTER_SAMPLE_H

#include <stdint.h>

struct sample {
    uint64_t cpu_ns;       /* of living and dead processes, in clock ticks of 10 ms */
    uint64_t memory_bytes; /* resident now, without pages of files */
};

/* The CPU time in the samples of one run, and what processes took with them: the time of a process
 * whose parent ignores SIGCHLD is nowhere after its end. */
struct cpu_samples {
    uint64_t last_ns;
    uint64_t before_fall_ns,
        after_fall_ns; /* of the last sample, if it was lower; otherwise 0 */
    uint64_t lost_ns;
};

/* In init: adds up the processes that /proc shows. What can't be read counts as nothing. */
struct sample sample_processes(void);

/* Adds the CPU time of a sample, and returns that of the whole run. */
uint64_t add_cpu_sample(struct cpu_samples *samples, uint64_t cpu_ns);

#endif
