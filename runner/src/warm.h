/* Warm interpreters: what init, the library in an interpreter, and the runner agree on. */
#ifndef DEEMSTER_WARM_H
#define DEEMSTER_WARM_H

#include <linux/capability.h>
#include <stdint.h>

/* The interpreter's descriptors, out of the way of those that it opens itself: a socket to init,
 * which copies read, too, and a pipe from which only the interpreter reads. */
#define WARM_SOCKET       63
#define WARM_PIPE         62
#define WARM_LIMITS       6
#define WARM_LIBRARY_NAME ".warm.so"
#define WARM_LIBRARY      "/code/" WARM_LIBRARY_NAME

/* What a waiting interpreter keeps until its copies have given it up. */
#define WARM_CAPABILITIES (UINT32_C(1) << CAP_SETUID | UINT32_C(1) << CAP_SETGID)

/* init -> a copy of the interpreter; descriptors: stdin, stdout, stderr */
struct warm_request {
    uint32_t uid; /* of the program, and its gid */
    uint32_t limit_count;
    struct {
        uint32_t resource;
        uint32_t reserved;
        uint64_t max; /* soft and hard */
    } limits[WARM_LIMITS];
};

/* interpreter -> init. It is ready: pid 0. A copy is about to run its program: the copy's pid. */
struct warm_answer {
    int32_t pid;
    int32_t error; /* errno, or 0 */
};

#endif
