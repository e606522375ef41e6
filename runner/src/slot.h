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

#define MAX_LINKS    32
#define MAX_PROFILES 64
#define MAX_SLOTS    256
#define MAX_CPUS     1024
#define MAX_BELOW    64

/* With root, the slots of all runners of a machine have the host uids from UID_BASE on. */
#define UID_BASE     1900000000
#define LEASED_SLOTS 65536

#define MAX_VIEWS      256
#define MAX_VIEW_PARTS 8
#define MAX_VIEW_BYTES (16 << 20)
#define MAX_TARGET     3000
#define DEVICES        5

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

/* A file or directory of the host, a symbolic link, or an empty directory, that a view shows. */
enum { SHOW_LINK = -1, SHOW_EMPTY = -2 };
struct view_entry {
    const char *text; /* the host's path, or the text of the link */
    const char *target;
    int source; /* index in sources, or one of the above */
};

/* What the programs of one language see: entries first to end. */
struct view {
    int first, end;
};

struct views {
    int count, entry_count, source_count;
    struct view list[MAX_VIEWS];
    struct view_entry *entries;
    const char **sources; /* each path of the host once */
};

/* The parsed command line. */
struct options {
    unsigned slots;
    unsigned layers;
    unsigned cores; /* that this process may use */
    uid_t uid_base; /* privileged: slot n is root as uid_base + 2n, programs are + 2n + 1 */
    bool privileged;
    int link_count, profile_count, cpu_count, below_count;
    struct {
        const char *source, *target;
    } links[MAX_LINKS];
    struct views views;
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
    bool low_priority;         /* programs get only CPU time that nobody else wants */
    uint64_t read_bytes_per_s; /* of each slot, from each disk; 0: not limited */
    bool keep_page_cache;      /* all programs are trusted: what they read stays in memory */
};

/* Shared by the runner, a spawner and its inits, in an anonymous shared mapping. */
struct shared {
    struct meter meter;
    struct report report;
    struct fault fault;     /* why the slot ended, for the runner to report */
    uint32_t flags;         /* of the request */
    bool requested;         /* a request was read: a report answers failures */
    bool init_died;         /* unexpectedly: the slot is not used again */
    bool closed;            /* Python closed the channel */
    bool code_mounted;      /* something is mounted at /code */
    bool data_mounted;      /* something is mounted at /data */
    unsigned warm_failures; /* interpreters in a row that could not be started or copied */
    unsigned cold_runs;     /* so many of the next runs start without such an interpreter */
    bool staged;            /* Python got the scratch: no other run may use it */
    int view;               /* whose files are in the root; -1: none */
    uint32_t scratch_inodes;
    uint64_t scratch_bytes;
};

/* The mounts of a view in one slot; see view.c. */
struct view_parts {
    int place; /* the directory of the mounts while the view is not in the root */
    int count;
    struct view_part {
        char name[32];
        int mount;
    } list[MAX_VIEW_PARTS];
};

struct slot {
    const struct options *options;
    unsigned number;
    struct shared *shared;
    int channel;      /* the slot's end of its channel */
    int proc;         /* the slot's complete, writable /proc, below the one that programs see */
    int listener;     /* of the notify filter; -1: none */
    int warm[2];      /* sockets between init and a waiting interpreter and its copies */
    int warm_pipe[2]; /* from init to the interpreter */
    uint64_t token;   /* 0 until the filters are loaded, then that of the options */
    int *trees;       /* detached mounts for the root: sources of the views, then devices */
    int tree_count;
    struct view_parts views[MAX_VIEWS];
};

/* In the privileged runner: sets uid_base to uids that no other runner uses. */
int lease_uids(struct options *options, struct fault *fault);
/* In the runner: clones the mounts for the slot's root. */
int slot_open_trees(struct slot *slot, struct fault *fault);
void slot_close_trees(struct slot *slot);
/* Makes a detached, recursive, read-only mount of a directory or file. */
enum tree_kind { TREE_FILES, TREE_DATA, TREE_DEVICE };
int open_read_only_tree(int dir, const char *path, enum tree_kind kind);

/* Reads the list of views from a file: "view", then "bind" SOURCE TARGET, "link" TEXT PATH or
 * "hide" PATH PATH, each string ending with NUL. */
int views_read(int fd, struct views *views);
/* In the spawner: builds all views below the working directory. */
int views_build(struct slot *slot);
/* In an init: puts the files of this view into the root, instead of those of another. */
int view_attach(struct slot *slot, unsigned view);
/* Creates the parent directories of a relative path. */
int make_parents(const char *path);
/* Attaches a detached mount at `path`, and creates a directory or file as its mount point. */
int attach_tree(int tree, const char *path);
/* Creates a directory that is a mount of its own, and returns a descriptor of it. */
int make_mount(const char *path);

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
