/* What a slot is made of, and what its processes share. */
#ifndef DEEMSTER_SLOT_H
#define DEEMSTER_SLOT_H

#include <linux/filter.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cgroup.h"
#include "fault.h"
#include "wire.h"

#define MAX_BINDS    128
#define MAX_LINKS    32
#define MAX_PROFILES 64
#define MAX_SLOTS    256
#define MAX_CPUS     1024

#define PROGRAM_ID 1000 /* uid and gid of every judged program, inside its user namespace */

enum layer {
    LAYER_SECCOMP = 1 << 0,
    LAYER_CGROUP = 1 << 1,
    LAYER_PID = 1 << 2,
    LAYER_NET = 1 << 3,
    LAYER_IPC = 1 << 4,
    LAYER_UTS = 1 << 5,
};
#define LAYERS_ALL 63

/* What the seccomp filter hands over, by number: 0 ends the run, ALLOW goes on, else the
 * errno to answer with. */
#define PROFILE_CALLS 512
#define PROFILE_ALLOW 0xffff
struct profile {
    uint16_t answers[PROFILE_CALLS];
};

/* The command line, understood. */
struct options {
    unsigned slots;
    unsigned layers;
    unsigned cores; /* that this process may use */
    uid_t
        uid_base; /* privileged: slot n has uid_base + 2n (its root) and + 2n + 1 (programs) */
    bool privileged;
    int bind_count, link_count, profile_count, cpu_count;
    struct {
        const char *source, *target;
    } binds[MAX_BINDS], links[MAX_LINKS];
    struct profile profiles[MAX_PROFILES];
    struct sock_fprog floor, filter;
    uint32_t arch; /* AUDIT_ARCH_… that profiles speak of */
    uint64_t word; /* see kernel.h; 0 while no filter is loaded */
    int cpus[MAX_CPUS];
};

/* Shared between a spawner and the inits that it makes, by one anonymous shared mapping. */
struct shared {
    struct meter meter;
    struct report report;
    struct fault fault; /* why the slot itself ended, for the runner to tell */
    uint32_t flags;     /* of the request */
    bool requested;     /* a request was read: what fails now is answered by a report */
    bool init_died;     /* by itself: the slot is not used again */
    bool closed;        /* Python closed the channel: nothing more to do */
    bool code_hung;     /* something is mounted at /code */
    bool data_hung;     /* and at /data */
    bool staged;        /* the scratch was lent out: it is never used again */
    uint32_t scratch_inodes;
    uint64_t scratch_bytes;
};

struct slot {
    const struct options *options;
    unsigned number;
    struct shared *shared;
    int channel;               /* the slot's end */
    int proc;                  /* the slot's own, whole and writable, below what programs see */
    int listener;              /* of the slot's filter; -1: none */
    uint64_t word;             /* 0 until the filter is loaded, then the options' */
    int trees[MAX_BINDS + 16]; /* detached mounts to hang into the root: binds, then devices */
    int tree_count;
};

/* Runner side: opens the mounts that the slot will hang into its root. */
int slot_open_trees(struct slot *slot, struct fault *fault);
void slot_close_trees(struct slot *slot);
/* A detached, recursive, read-only copy of a directory or file. */
enum tree_kind { TREE_FILES, TREE_DATA, TREE_DEVICE };
int open_read_only_tree(int dir, const char *path, enum tree_kind kind);

/* Child side, in fresh namespaces and already in its cgroups: builds the root and gives up
 * what isn't needed. */
int slot_enter(struct slot *slot, struct fault *fault);
/* Mounts an empty scratch with the quotas in `shared`. */
int scratch_mount(const struct slot *slot);
/* Mounts a /proc that shows a program its own processes, to look at. */
int proc_mount(const struct slot *slot);
/* Child side: runs what the channel asks for. 0 once Python closed it; -1 with
 * shared->fault otherwise. */
int slot_serve(struct slot *slot);
/* Sends a message with a descriptor of the scratch. */
int slot_lend_scratch(const struct slot *slot, const void *message, size_t bytes);
/* Waits for an order other than RUN and returns it; 0 when the channel was closed or makes no
 * sense. */
uint32_t slot_await_order(const struct slot *slot);

#endif
