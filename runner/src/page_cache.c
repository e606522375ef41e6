/* Gives back the page cache that a run has added, and the directory entries and inodes: all boxes
 * show the same files, so one run could tell another something by what is in memory.
 *
 * The kernel charges them to the group of the run that brought them in, and the reclaim of a
 * group removes only what is charged to it. What was in memory before the run, and was charged to
 * somebody else, stays.
 *
 * No counter of the kernel tells exactly whether a run has added anything (memory.stat may be late by
 * hundreds of pages), so every run is followed by a reclaim. The usual interfaces repeat it 16 times
 * when nothing is left to reclaim, which takes as long as a run; one pass takes a twentieth. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "cgroup.h"
#include "kernel.h"

#define MAX_ROUNDS   256
#define INTERRUPT_US 50
#define INTERVAL_US  2000 /* if the first signal came before the write */

/* Version 1: a lower limit is refused after a pass that reclaimed nothing. */
static int shrink_by_limit(struct meter *meter)
{
    uint64_t limit = read_fd_number(meter->memory_limit);
    if (write_fd_number(meter->memory_limit, 0))
        return errno == EBUSY ? 0 : -1;
    return write_fd_number(meter->memory_limit, limit); /* the group was empty */
}

static void ignore(int number)
{
    (void)number;
}

/* Version 2: a signal ends the write to memory.reclaim after the pass that it interrupts. One that
 * comes while the write begins ends it before the first pass: so two rounds must find nothing. */
static int reclaim_until_interrupted(struct meter *meter)
{
    const struct itimerval soon = {{0, INTERVAL_US}, {0, INTERRUPT_US}}, never = {0};
    struct sigaction action = {.sa_handler = ignore}, before;
    if (sigaction(SIGALRM, &action, &before))
        return -1;
    uint64_t left = read_fd_number(meter->usage);
    for (int rounds = 0, idle = 0; left && idle < 2 && rounds < MAX_ROUNDS; rounds++) {
        uint64_t before_round = left;
        if (setitimer(ITIMER_REAL, &soon, NULL))
            return -1;
        (void)write_fd_number(meter->reclaim, left); /* EINTR, or EAGAIN if some is in use */
        left = read_fd_number(meter->usage);
        idle = left < before_round ? 0 : idle + 1;
    }
    return setitimer(ITIMER_REAL, &never, NULL) || sigaction(SIGALRM, &before, NULL) ? -1 : 0;
}

/* Pages that a program has just read are in a list of the core that it ran on. A pass finds those of
 * its own core only; the repeated reclaim empties the lists of all cores. */
static void reclaim_from_all_cores(struct meter *meter)
{
    (void)write_fd_number(meter->reclaim, meter->v2[MEMORY] ? read_fd_number(meter->usage) : 0);
}

int page_cache_give_back(struct meter *meter, bool one_core)
{
    if (!meter->on || meter->reclaim < 0)
        return 0;
    if (!one_core)
        reclaim_from_all_cores(meter);
    else if (meter->v2[MEMORY])
        return reclaim_until_interrupted(meter);
    else
        return shrink_by_limit(meter);
    return 0;
}
