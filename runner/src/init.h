/* The init of a run, as the spawner sees it. */
#ifndef DEEMSTER_INIT_H
#define DEEMSTER_INIT_H

#include "slot.h"

#define PROGRAM_STACK_BYTES (64 * 1024)

/* One run, seen from its init. */
struct run {
    struct slot *slot;
    struct report *report;
    struct request request;
    int stdio[3];
    int code;
    int children; /* signalfd */
    int exec_error;
    const char *exec_step;
    pid_t program;
    uint64_t started_ns;
    char packet[WIRE_MAX_REQUEST + 1];
    char stack[PROGRAM_STACK_BYTES] __attribute__((aligned(64)));
};

/* The whole life of an init; `argument` is its struct run. Ends by _exit: 0, or 1 when a fault is in
 * the report or, before a request was read, in shared->fault. */
void init_main(void *argument);

#endif
