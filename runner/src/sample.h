/* What the processes of a run use, where there is no cgroup to ask. */
#ifndef DEEMSTER_SAMPLE_H
#define DEEMSTER_SAMPLE_H

#include <stdint.h>

struct sample {
    uint64_t cpu_ns;       /* of living and dead processes, in clock ticks of 10 ms */
    uint64_t memory_bytes; /* resident now, without pages of files */
};

/* In init: adds up the processes that /proc shows. What can't be read counts as nothing. */
struct sample sample_processes(void);

#endif
