/* The init of a run, as the spawner sees it. */
#ifndef DEEMSTER_INIT_H
#define DEEMSTER_INIT_H

#include "slot.h"

#define PROGRAM_STACK_BYTES (64 * 1024)

/* The program's end of a pipe that another run has the other end of. */
struct hold {
    int fd; /* -1: let go */
    dev_t device;
    ino_t inode;
};

/* One run, seen from its init. */
struct run {
    struct slot *slot;
    struct report *report;
    struct request request;
    int stdio[3];
    int code, data; /* mounts to hang; -1: none */
    int children;   /* signalfd */
    int exec_error;
    const char *exec_step;
    pid_t program;
    uint64_t started_ns;
    struct hold holds[2]; /* with PAIRED: of stdin and stdout */
    uint64_t look_at_ns;  /* when to look at them again, after started_ns */
    char packet[WIRE_MAX_REQUEST + 1];
    char stack[PROGRAM_STACK_BYTES] __attribute__((aligned(64)));
};

/* The whole life of an init; `argument` is its struct run. Ends by _exit: 0, or 1 when a fault is in
 * the report or, before a request was read, in shared->fault. */
void init_main(void *argument);

/* With PAIRED: takes hold of stdin and stdout once the program has started, and looks now and
 * then whether the program still has them. */
int holds_begin(struct run *run, struct fault *fault);
void holds_look(struct run *run);

#endif
