/* The messages between Python and the runner: fixed heads, bounded lengths, no pointers.
 *
 * Two kinds of SOCK_SEQPACKET channel carry them, one message a packet, host byte order
 * (both ends are one machine). The Python twin of this file is
 * src/deemster/sandbox/wire.py; a test compares sizes and field offsets. */
#ifndef DEEMSTER_WIRE_H
#define DEEMSTER_WIRE_H

#include <stddef.h>
#include <stdint.h>

#define WIRE_MAGIC       UINT32_C(0x314d4544) /* "DEM1" */
#define WIRE_STEP_BYTES  32
#define WIRE_MAX_REQUEST (96 * 1024)
#define WIRE_MAX_STRINGS 2048
#define WIRE_MIN_MEMORY  (1 << 20)
#define WIRE_MIN_FILES   64 /* the runner itself needs some until the execve */

/* ---- slot channel: Python -> slot ---- */

enum slot_order {
    /* struct request_head, then text; descriptors: stdin, stdout, stderr [, code] [, data] */
    ORDER_RUN = 1,
    /* struct order: end the running program; passed over when none runs */
    ORDER_CANCEL = 2,
    /* struct order: the held scratch has been read and may be wiped */
    ORDER_RELEASE = 3,
    /* struct order: the scratch has been filled; the program may start */
    ORDER_START = 4,
};

enum request_flag {
    /* One more descriptor, a detached mount, replaces what is at /code. */
    REQUEST_CODE = 1 << 0,
    /* Send a descriptor of the scratch with the report and wait for RELEASE. */
    REQUEST_HOLD = 1 << 1,
    /* RLIMIT_AS too: for programs that don't reserve what they never use. */
    REQUEST_ADDRESS_SPACE = 1 << 2,
    /* Leave /code as the run before had it; otherwise it is taken away. */
    REQUEST_SAME_CODE = 1 << 3,
    /* The same two for /data. */
    REQUEST_DATA = 1 << 4,
    REQUEST_SAME_DATA = 1 << 5,
    /* Send NOTE_STAGE and wait for START before anything of the program begins. */
    REQUEST_STAGE = 1 << 6,
    /* stdin and stdout are pipes shared with another run: see hold.c. */
    REQUEST_PAIRED = 1 << 7,
};
#define REQUEST_FLAGS_KNOWN 255
#define WIRE_MAX_FDS        5

struct order {
    uint32_t magic;
    uint32_t order;
};

struct request_head {
    uint32_t magic;
    uint32_t order;
    uint32_t flags;
    uint32_t profile; /* index of a --profile */
    uint64_t cpu_ns;
    uint64_t wall_ns;
    uint64_t memory_bytes;
    uint64_t stack_bytes;   /* 0: unlimited, so bounded by memory_bytes alone */
    uint64_t file_bytes;    /* largest single file the program may write */
    uint64_t scratch_bytes; /* all its files together */
    uint32_t scratch_inodes;
    uint32_t processes; /* processes and threads, the program itself included */
    uint32_t open_files;
    uint32_t cpu_permille; /* share of one core; 0: no quota */
    uint32_t argc;         /* the text holds argc + envc strings, each ended by NUL */
    uint32_t envc;
    uint32_t text_bytes;
    uint32_t reserved;
};

struct request {
    struct request_head head;
    char *argv[WIRE_MAX_STRINGS + 1];
    char *envp[WIRE_MAX_STRINGS + 1];
};

/* Checks a packet and points argv/envp into it. Returns NULL, or what is wrong with it. */
const char *wire_parse_request(char *packet, size_t bytes, struct request *out);

/* ---- slot channel: slot -> Python ---- */

enum slot_note {
    /* struct order; descriptor: the empty scratch, to put files into */
    NOTE_STAGE = 48,
};

enum run_end {
    END_NONE = 0,
    END_EXITED = 1,    /* code: exit status */
    END_SIGNALLED = 2, /* code: signal */
    END_CPU = 3,
    END_WALL = 4,
    END_MEMORY = 5,
    END_PROCESSES = 6,
    END_FORBIDDEN = 7, /* code: system call number, arch: its AUDIT_ARCH_… */
    END_CANCELLED = 8,
    END_FAULT = 9, /* ours: step and error say where; the program may not have started */
};

struct report {
    uint32_t magic;
    uint32_t end;
    int32_t code;
    uint32_t arch;
    uint64_t cpu_ns;
    uint64_t wall_ns;
    uint64_t memory_bytes;
    uint32_t oom_kills;
    uint32_t process_refusals;
    int32_t error;
    uint32_t reserved;
    uint64_t ended_ns; /* by the monotonic clock; the program started wall_ns before */
    char step[WIRE_STEP_BYTES];
};

/* ---- control channel: Python -> runner ---- */

enum control_order {
    /* struct order, then a directory's path; answered by EVENT_ATTACHED or EVENT_REFUSED */
    CONTROL_ATTACH = 16,
    /* the same, for a directory in which nothing is to be executed */
    CONTROL_ATTACH_DATA = 17,
};

/* ---- control channel: runner -> Python ---- */

enum control_event {
    EVENT_SLOT = 32,     /* a slot is ready; descriptor: its channel */
    EVENT_ATTACHED = 33, /* descriptor: a detached read-only mount of that directory */
    EVENT_REFUSED = 34,  /* the directory can't be attached */
    EVENT_FAULT = 35,    /* a slot could not be made, or ended by itself */
};

struct event {
    uint32_t magic;
    uint32_t event;
    uint32_t slot;
    int32_t error;
    char step[WIRE_STEP_BYTES];
};

#endif
