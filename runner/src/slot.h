/* A slot: its options, the state that its processes share, and the functions that make and serve
 * it. */
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
#define MAX_BELOW    64

/* With root, the slots of all runners of a machine have the host uids from UID_BASE on. */
#define UID_BASE     1900000000
#define LEASED_SLOTS 65536

#define PROGRAM_ID 1000 /* uid and gid of every program, inside its user namespace */

enum layer {
    LAYER_SECCOMP = 1 << 0,
    LAYER_CGROUP = 1 << 1,
    LAYER_PID = 1 << 2,
    LAYER_NET = 1 << 3,
    LAYER_IPC = 1 << 4,
    LAYER_UTS = 1 << 5,
};
#define LAYERS_ALL 63

/* The answer to each system call that the notify filter passes on, by number: 0 ends the run,
 * PROFILE_ALLOW allows the call, anything else is the errno to return. */
#define PROFILE_CALLS 512
#define PROFILE_ALLOW 0xffff
struct profile {
    uint16_t answers[PROFILE_CALLS];
};

/* The parsed command line. */
struct options {
    unsigned slots;
    unsigned layers;
    unsigned cores; /* that this process may use */
    uid_t uid_base; /* privileged: slot n is root as uid_base + 2n, programs are + 2n + 1 */
    bool privileged;
    int bind_count, link_count, profile_count, cpu_count, below_count;
    struct {
        const char *source, *target;
    } binds[MAX_BINDS], links[MAX_LINKS];
    struct {
        const char *path;
        int dir;
    } below[MAX_BELOW]; /* directories are attached only from below these */
    struct profile profiles[MAX_PROFILES];
    struct sock_fprog deny_filter, notify_filter;
    uint32_t arch;  /* the AUDIT_ARCH_… of the numbers in profiles */
    uint64_t token; /* see kernel.h */
    int cpus[MAX_CPUS];
    bool share_cpus; /* every slot may use all of these cores; otherwise each has one of them */
    bool low_priority;    /* programs get only CPU time that nobody else wants */
    bool keep_page_cache; /* all programs are trusted: what they read stays in memory */
};

/* Shared by the runner, a spawner and its inits, in an anonymous shared mapping. */
struct shared {
    struct meter meter;
    struct report report;
    struct fault fault; /* why the slot ended, for the runner to report */
    uint32_t flags;     /* of the request */
    bool requested;     /* a request was read: a report answers failures */
    bool init_died;     /* unexpectedly: the slot is not used again */
    bool closed;        /* Python closed the channel */
    bool code_mounted;  /* something is mounted at /code */
    bool data_mounted;  /* something is mounted at /data */
    bool staged;        /* Python got the scratch: no other run may use it */
    uint32_t scratch_inodes;
    uint64_t scratch_bytes;
};

struct slot {
    const struct options *options;
    unsigned number;
    struct shared *shared;
    int channel;    /* the slot's end of its channel */
    int proc;       /* the slot's complete, writable /proc, below the one that programs see */
    int listener;   /* of the notify filter; -1: none */
    uint64_t token; /* 0 until the filters are loaded, then that of the options */
    int trees[MAX_BINDS + 16]; /* detached mounts for the root: binds, then devices */
    int tree_count;
};

/* In the privileged runner: sets uid_base to uids that no other runner uses. */
int lease_uids(struct options *options, struct fault *fault);
/* In the runner: clones the mounts for the slot's root. */
int slot_open_trees(struct slot *slot, struct fault *fault);
void slot_close_trees(struct slot *slot);
/* Makes a detached, recursive, read-only mount of a directory or file. */
enum tree_kind { TREE_FILES, TREE_DATA, TREE_DEVICE };
int open_read_only_tree(int dir, const char *path, enum tree_kind kind);

/* In the spawner, in its new namespaces and cgroups: builds the root and drops privileges. */
int slot_enter(struct slot *slot, struct fault *fault);
/* Mounts an empty scratch with the quotas in `shared`. */
int scratch_mount(const struct slot *slot);
/* Mounts a read-only /proc that shows a program its own processes. */
int proc_mount(const struct slot *slot);
/* In the spawner: serves the slot's channel. Returns 0 once Python has closed it, or -1 with
 * shared->fault. */
int slot_serve(struct slot *slot);
/* Sends a message with a descriptor of the scratch. */
int slot_send_scratch(const struct slot *slot, const void *message, size_t bytes);
/* Waits for an instruction other than RUN and returns it; 0 if the channel was closed or the
 * message is invalid. */
uint32_t slot_await_instruction(const struct slot *slot);

#endif
