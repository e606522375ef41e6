/* A run's init: its state, and the functions that the spawner and hold.c use. */
#ifndef DEEMSTER_INIT_H
#define DEEMSTER_INIT_H

#include "slot.h"

#define PROGRAM_STACK_BYTES (64 * 1024)

/* The program's end of a pipe to another run. */
struct held_pipe {
    int fd; /* -1: closed */
    dev_t device;
    ino_t inode;
};

/* One run. */
struct run {
    struct slot *slot;
    struct report *report;
    struct request request;
    int stdio[3];
    int code, data; /* mounts to attach; -1: none */
    int staging;    /* socket; -1: none */
    int children;   /* signalfd */
    int exec_error;
    const char *exec_step;
    pid_t program;
    uint64_t started_ns;
    struct held_pipe pipes[2]; /* with PAIRED: stdin and stdout */
    uint64_t check_pipes_ns;   /* when to check them again, since started_ns */
    char packet[WIRE_MAX_REQUEST + 1];
    char stack[PROGRAM_STACK_BYTES] __attribute__((aligned(64)));
};

/* The main function of an init; `argument` is its struct run. Exits with 0, or with 1 if a fault is in
 * the report or, before a request was read, in shared->fault. */
void init_main(void *argument);

/* With PAIRED: hold_pipes keeps stdin and stdout open after the program has started;
 * release_closed_pipes closes those that the run has closed itself. */
int hold_pipes(struct run *run, struct fault *fault);
void release_closed_pipes(struct run *run);

#endif
