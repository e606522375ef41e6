/* A run's init: its state, and the functions that it shares with the spawner and hold.c. */
#ifndef DEEMSTER_INIT_H
#define DEEMSTER_INIT_H

#include <sys/stat.h>
#include <time.h>

#include "sample.h"
#include "slot.h"

#define PROGRAM_STACK_BYTES (64 * 1024)

/* The state of an unused scratch, to tell whether a run has changed it. */
struct scratch_state {
    struct timespec changed, written, used;
    mode_t mode;
    uint64_t blocks, inodes;
};

/* The program's end of a pipe to another run. */
struct held_pipe {
    int fd; /* -1: closed */
    dev_t device;
    ino_t inode;
};

/* What makes a run need a pid namespace of its own: files or a terminal that outlive it. */
#define NEEDS_NEW_INIT                                                                         \
    ((uint32_t)(REQUEST_STAGE | REQUEST_COLLECT | REQUEST_PAIRED | REQUEST_TERMINAL))

#define PROGRAM_LIMITS 6
struct program_limit {
    uint32_t resource;
    uint64_t max;
};

/* An interpreter that has started and waits for runs; see warm.c. */
struct warm {
    pid_t pid;       /* 0: there is none */
    bool chosen;     /* for the present run */
    uint64_t bytes;  /* of its memory */
    mode_t kinds[3]; /* of its streams */
    int streams[3];
    struct request_head head; /* of the run for which it was started */
    char text[WIRE_MAX_REQUEST];
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
    int awaited;    /* event before which the program does not start; -1: none */
    int end_event;  /* event that tells the end of the run; -1: none */
    int children;   /* signalfd */
    int exec_error;
    const char *exec_step;
    pid_t program;
    struct warm warm;
    uint64_t started_ns;
    uint64_t sample_ns;        /* when to measure the memory again, since started_ns */
    struct cpu_samples cpu;    /* without cgroups */
    struct held_pipe pipes[2]; /* with PAIRED: stdin and stdout */
    uint64_t check_pipes_ns;   /* when to check them again, since started_ns */
    char packet[WIRE_MAX_REQUEST + 1];
    char stack[PROGRAM_STACK_BYTES] __attribute__((aligned(64)));
};

/* The main function of an init; `argument` is its struct run. Exits with 0, or with 1 if a fault is in
 * the report or, before a request was read, in shared->fault. */
void init_main(void *argument);

/* Returns the stack for a child that shares our memory. The child before it never returned from its
 * functions, so the sanitizer takes parts of it for a frame that is in use. */
void *child_stack(struct run *run);

/* Makes the kernel kill this process rather than its init if memory runs out. */
int prefer_for_oom_kill(int proc);
/* Lists the program's limits and returns their number. */
size_t program_limits(const struct run *run, struct program_limit limits[PROGRAM_LIMITS]);

/* Answers a call that the notify filter passed on; `trusted` is the number of a call that is
 * allowed in any case, or -1. True: the call is forbidden, and the report says so; its caller stays
 * blocked in the kernel until the end of the run. */
bool notify_answer(struct run *run, int trusted);

/* Decides whether the run gets a copy of a waiting interpreter, and starts one if there is none. If
 * that fails, the run starts as others do. */
int warm_prepare(struct run *run, struct fault *fault);
/* Makes a copy of the interpreter, which becomes the program; -1: there is none. */
int warm_start_program(struct run *run);
/* 1 if there is a waiting interpreter, otherwise 0. */
unsigned warm_alive(const struct run *run);

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
