/* The messages between Python and the runner: fixed heads, limited lengths, no pointers.
 *
 * The control channel connects Python and the runner; a slot channel connects Python and a slot.
 * Both are SOCK_SEQPACKET sockets, with one message per packet in host byte order.
 * src/deemster/sandbox/wire.py defines the same messages; a test compares sizes and offsets. */
#ifndef DEEMSTER_WIRE_H
#define DEEMSTER_WIRE_H

#include <stddef.h>
#include <stdint.h>

#define WIRE_MAGIC       UINT32_C(0x314d4544) /* "DEM1" */
#define WIRE_STEP_BYTES  32
#define WIRE_MAX_REQUEST (96 * 1024)
#define WIRE_MAX_STRINGS 2048
#define WIRE_MIN_MEMORY  (1 << 20)
#define WIRE_MIN_FILES   64 /* the runner itself needs some before the execve */

/* ---- slot channel: Python -> slot ---- */

enum slot_instruction {
    /* struct request_head, then text; descriptors: stdin, stdout, stderr [, code] [, data]
     * [, staging socket] [, event to wait for] [, event of the end] */
    INSTRUCTION_RUN = 1,
    /* struct instruction: end the running program; ignored if none runs */
    INSTRUCTION_CANCEL = 2,
    /* struct instruction: the scratch has been read and may be wiped */
    INSTRUCTION_RELEASE = 3,
    /* struct instruction: the scratch has been filled; the program may start */
    INSTRUCTION_START = 4,
    /* struct instruction, with a signal's number added: send it to the program's process group;
     * ignored if no program runs */
    INSTRUCTION_SIGNAL = 1 << 8,
};
#define WIRE_MAX_SIGNAL 31 /* no real-time signals: the kernel queues each of them */

enum request_flag {
    /* One more descriptor, a detached mount, replaces what is at /code. */
    REQUEST_CODE = 1 << 0,
    /* Send a descriptor of the scratch with the report and wait for RELEASE. */
    REQUEST_COLLECT = 1 << 1,
    /* Also set RLIMIT_AS; not for runtimes that reserve more memory than they use. */
    REQUEST_ADDRESS_SPACE = 1 << 2,
    /* Keep the mount at /code; without CODE and SAME_CODE it is unmounted. */
    REQUEST_SAME_CODE = 1 << 3,
    /* The same two for /data. */
    REQUEST_DATA = 1 << 4,
    REQUEST_SAME_DATA = 1 << 5,
    /* One more descriptor, a staging socket. Send NOTE_STAGE, answer the requests on that socket,
     * and wait for START before the program and its clocks start. */
    REQUEST_STAGE = 1 << 6,
    /* stdin and stdout are pipes to another run: see hold.c. */
    REQUEST_PAIRED = 1 << 7,
    /* stdin is a terminal: it becomes the controlling terminal of the program's new session. */
    REQUEST_TERMINAL = 1 << 8,
    /* The program is an interpreter, which may be a copy of one that has already started. */
    REQUEST_WARM = 1 << 9,
    /* One more descriptor, an eventfd: wait until it can be read, or for CANCEL, before the program
     * and its clocks start. Not with STAGE. */
    REQUEST_AWAIT_EVENT = 1 << 10,
    /* One more descriptor, an eventfd: add 1 to it when the run has ended and left no process, if
     * its init stays for the next run. */
    REQUEST_TELL_END = 1 << 11,
};
#define REQUEST_FLAGS_KNOWN 4095
#define WIRE_MAX_FDS        8

struct instruction {
    uint32_t magic;
    uint32_t instruction;
};

struct request_head {
    uint32_t magic;
    uint32_t instruction;
    uint32_t flags;
    uint32_t profile; /* index of a --profile */
    uint64_t cpu_ns;
    uint64_t wall_ns;
    uint64_t memory_bytes;
    uint64_t stack_bytes;   /* 0: limited only by memory_bytes */
    uint64_t file_bytes;    /* largest file that the program may write */
    uint64_t scratch_bytes; /* all files together */
    uint32_t scratch_inodes;
    uint32_t processes; /* processes and threads, including the program itself */
    uint32_t open_files;
    uint32_t cpu_permille; /* share of one core; 0: no quota */
    uint32_t argc;         /* the text has argc + envc strings, each ending with NUL */
    uint32_t envc;
    uint32_t text_bytes;
    uint32_t view; /* index of a view in --views */
};

struct request {
    struct request_head head;
    char *argv[WIRE_MAX_STRINGS + 1];
    char *envp[WIRE_MAX_STRINGS + 1];
};

/* Checks a packet and points argv and envp into it. Returns NULL, or what is wrong with it. */
const char *wire_parse_request(char *packet, size_t bytes, struct request *out);

/* ---- slot channel: slot -> Python ---- */

enum slot_note {
    /* struct instruction: the scratch is empty, and files can be put into it */
    NOTE_STAGE = 48,
};

/* ---- staging socket (SOCK_SEQPACKET) ---- */

enum stage_kind {
    STAGE_FILE = 1, /* answered with a descriptor to write to */
    STAGE_DIRECTORY = 2,
    STAGE_LINK = 3,
};
#define WIRE_MAX_STAGE_TEXT (2 * 4096)

/* Python -> slot. The text is a path relative to the scratch and, for a link, its target, each
 * ending with NUL; only the used part of it is sent. */
struct stage_request {
    uint32_t magic;
    uint32_t kind;
    uint32_t mode; /* permissions; not for links */
    uint32_t text_bytes;
    char text[WIRE_MAX_STAGE_TEXT];
};

/* slot -> Python */
struct stage_answer {
    uint32_t magic;
    int32_t error; /* an errno, or 0 */
};

/* Returns NULL, or what is wrong with a packet of this many bytes. */
const char *wire_check_stage_request(const struct stage_request *request, size_t bytes);

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
    END_FAULT = 9, /* the sandbox failed: step and error say where */
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
    uint64_t ended_ns; /* CLOCK_MONOTONIC; the program started wall_ns earlier */
    char step[WIRE_STEP_BYTES];
};

/* ---- control channel: Python -> runner ---- */

enum control_instruction {
    /* struct instruction, then a directory's path; answered by EVENT_ATTACHED or EVENT_REFUSED */
    CONTROL_ATTACH = 16,
    /* the same, for a directory from which nothing may be executed */
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
    uint32_t uid; /* with EVENT_SLOT: the host's uid of the slot's programs */
    uint32_t pid; /* with EVENT_SLOT: of the slot's spawner */
    char step[WIRE_STEP_BYTES];
};

#endif
