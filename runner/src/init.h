/* A run's init: its state, and the functions that it shares with the spawner and hold.c. */
#ifndef DEEMSTER_INIT_H
#define DEEMSTER_INIT_H

#include <sys/stat.h>
#include <time.h>

#include "slot.h"

#define PROGRAM_STACK_BYTES (64 * 1024)

/* The state of an unused scratch, to tell whether a run has changed it. */
struct scratch_state {
    struct timespec changed;
    mode_t mode;
    uint64_t blocks, inodes;
};

/* The program's end of a pipe to another run. */
struct held_pipe {
    int fd; /* -1: closed */
    dev_t device;
    ino_t inode;
};

/* One run, and what spawner and init remember from one run to the next. */
struct run {
    struct slot *slot;
    struct report *report;
    struct scratch_state clean;
    int last_pid; /* file that sets the next pid; -1: every run gets an init of its own */
    bool init_reused;
    struct request request;
    int stdio[3];
    int code, data; /* mounts to attach; -1: none */
    int staging;    /* socket; -1: none */
    int children;   /* signalfd */
    int exec_error;
    const char *exec_step;
    pid_t program;
    uint64_t started_ns;
    uint64_t sample_ns;        /* when to measure the memory again, since started_ns */
    struct held_pipe pipes[2]; /* with PAIRED: stdin and stdout */
    uint64_t check_pipes_ns;   /* when to check them again, since started_ns */
    char packet[WIRE_MAX_REQUEST + 1];
    char stack[PROGRAM_STACK_BYTES] __attribute__((aligned(64)));
};

/* The main function of an init; `argument` is its struct run. Exits with 0, or with 1 if a fault is in
 * the report or, before a request was read, in shared->fault. */
void init_main(void *argument);

/* Resets the report and the counters for the next run. */
int run_get_ready(struct run *run);
/* After a run: reads the counters, sends the report and removes everything that the run left, while
 * `inits` processes other than the spawner are alive. -1: the slot ends, and `shared` says why. */
int run_finish(struct run *run, unsigned inits);

/* With PAIRED: hold_pipes keeps stdin and stdout open after the program has started;
 * release_closed_pipes closes those that the run has closed itself. */
int hold_pipes(struct run *run, struct fault *fault);
void release_closed_pipes(struct run *run);

#endif
