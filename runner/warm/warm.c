/* Makes an interpreter wait when it is about to read its program, and makes a copy of it for each
 * run.
 *
 * Init preloads this library. The interpreter starts as usual until it first opens a file below
 * /code. There it waits for init, in wait_for_runs(), and never gets any further. For each run it
 * makes a copy of itself, which is a child of init, as a program is that init starts without this.
 * The copy takes the stdin, stdout and stderr of the run, gives up all privileges, and goes on:
 * it opens the file, which is now that of the submission.
 *
 * Privileges
 *   The interpreter is root of the slot's user namespace with two capabilities, those to change
 *   uids and gids, so no program can send it signals or look into it. It doesn't know the token
 *   (docs/adr/0003): init answers the notifications of its few calls that need one.
 *
 * Descriptors
 *   WARM_SOCKET and WARM_PIPE, which lead to init. A copy closes both before it goes on. */
#define _GNU_SOURCE
#include "warm.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <link.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "interpreters.h"

#ifndef PR_GET_TID_ADDRESS
#define PR_GET_TID_ADDRESS 40
#endif

static const char CODE[] = "/code/";
static bool expecting; /* until the program is opened */

/* ---- a copy, before it goes on ---- */

static int receive_request(struct warm_request *request, int fds[3])
{
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(3 * sizeof(int))];
    } control;
    struct iovec part = {request, sizeof *request};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof control};
    if (recvmsg(WARM_SOCKET, &message, MSG_CMSG_CLOEXEC) != sizeof *request)
        return -1;
    const struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    if (!head || head->cmsg_type != SCM_RIGHTS || head->cmsg_len != CMSG_LEN(3 * sizeof(int)) ||
        request->limit_count > WARM_LIMITS) {
        errno = EBADMSG;
        return -1;
    }
    memcpy(fds, CMSG_DATA(head), 3 * sizeof(int));
    return 0;
}

static int take_over(const struct warm_request *request, const int fds[3])
{
    for (int fd = 0; fd < 3; fd++)
        if (dup2(fds[fd], fd) < 0)
            return -1;
    if (setpgid(0, 0) || chdir("/work"))
        return -1;
    for (uint32_t i = 0; i < request->limit_count; i++) {
        const int resource = (int)request->limits[i].resource;
        struct rlimit limit;
        if (getrlimit(resource, &limit))
            return -1;
        if (limit.rlim_max > request->limits[i].max) /* only root may raise it */
            limit.rlim_max = request->limits[i].max;
        limit.rlim_cur = limit.rlim_max;
        if (setrlimit(resource, &limit))
            return -1;
    }
    /* With the last uid that was root go all capabilities. */
    if (syscall(SYS_setgroups, 0, NULL) ||
        syscall(SYS_setresgid, request->uid, request->uid, request->uid) ||
        syscall(SYS_setresuid, request->uid, request->uid, request->uid))
        return -1;
    return prctl(PR_SET_DUMPABLE, 1, 0, 0, 0); /* as after an execve */
}

static void become_program(void *robust_list, size_t robust_bytes)
{
    struct warm_request request;
    struct warm_answer answer = {.pid = (int32_t)getpid()};
    int fds[3];
    syscall(SYS_set_robust_list, robust_list, robust_bytes); /* the kernel does not copy it */
    if (receive_request(&request, fds) || take_over(&request, fds) || find_python_bytecode())
        answer.error = errno ? errno : EPROTO;
    if (write(WARM_SOCKET, &answer, sizeof answer) != sizeof answer || answer.error)
        _exit(127);
    close(WARM_SOCKET);
    close(WARM_PIPE);
    for (int i = 0; i < 3; i++)
        close(fds[i]); /* none is below 3: the interpreter has those open */
}

/* ---- the waiting interpreter ---- */

/* Init's child, not ours. The C library's fork can't do this, but runs nothing that a process
 * with a single thread needs. */
static pid_t copy_process(void *tid)
{
    const long flags = CLONE_PARENT | CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID | SIGCHLD;
#if defined(__x86_64__)
    return (pid_t)syscall(SYS_clone, flags, 0, NULL, tid, 0);
#else
    return (pid_t)syscall(SYS_clone, flags, 0, NULL, 0, tid);
#endif
}

/* Keeps what execve has left of our capabilities, but lets no other program inherit them. */
static int keep_capabilities(void)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2] = {
        {.effective = WARM_CAPABILITIES, .permitted = WARM_CAPABILITIES}};
    return (int)syscall(SYS_capset, &head, data);
}

static bool single_threaded(void)
{
    struct stat tasks;
    return stat("/proc/self/task", &tasks) == 0 && tasks.st_nlink == 3;
}

/* Makes a mapping of a file private to this process, by one page that is written. The kernel
 * copies the page tables of such mappings, so that copies need no page faults to find the code
 * and the constants of the interpreter. */
static int keep_mapped(struct dl_phdr_info *object, size_t size, void *unused)
{
    (void)size;
    (void)unused;
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    for (size_t i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &object->dlpi_phdr[i];
        if (segment->p_type != PT_LOAD || segment->p_flags & PF_W || !segment->p_filesz)
            continue;
        const uintptr_t start = object->dlpi_addr + segment->p_vaddr;
        void *first = (void *)(start & ~(page - 1));
        const size_t length = start + segment->p_memsz - (uintptr_t)first;
        const int executable = segment->p_flags & PF_X ? PROT_EXEC : 0;
        if (mprotect(first, length, PROT_READ | PROT_WRITE | executable))
            continue; /* the vDSO's */
        *(volatile char *)start = *(volatile char *)start;
        if (mprotect(first, length, PROT_READ | executable))
            _exit(1);
    }
    return 0;
}

static void wait_for_runs(void)
{
    void *tid, *robust_list;
    size_t robust_bytes;
    const int saved = errno;
    struct warm_answer answer = {0};
    if (prctl(PR_GET_TID_ADDRESS, &tid, 0, 0, 0) ||
        syscall(SYS_get_robust_list, 0, &robust_list, &robust_bytes) || keep_capabilities())
        _exit(1);
    dl_iterate_phdr(keep_mapped, NULL);
    import_python_modules();
    shorten_end_of_python();
    if (!single_threaded())
        answer.error = EBUSY;
    if (write(WARM_SOCKET, &answer, sizeof answer) != sizeof answer || answer.error)
        _exit(1);
    for (char go; read(WARM_PIPE, &go, 1) == 1;) {
        answer = (struct warm_answer){.pid = copy_process(tid)};
        if (answer.pid == 0) {
            become_program(robust_list, robust_bytes);
            errno = saved;
            return;
        }
        if (answer.pid < 0) {
            answer.error = errno;
            if (write(WARM_SOCKET, &answer, sizeof answer) != sizeof answer)
                break;
        }
    }
    _exit(1);
}

/* ---- where an interpreter opens its program ---- */

static void wipe_variable(const char *name)
{
    char *value = getenv(name);
    const size_t bytes = strlen(name) + sizeof "=" - 1;
    if (!value)
        return;
    unsetenv(name);
    memset(value - bytes, 0, bytes + strlen(value));
}

/* Programs don't see the variables with which init starts the interpreter. */
__attribute__((constructor)) static void begin(void)
{
    const char *value = getenv("LD_PRELOAD");
    if (!value || strcmp(value, WARM_LIBRARY))
        return;
    wipe_variable("LD_PRELOAD");
    wipe_variable("LD_BIND_NOW");
    expecting = true;
}

static void before_open(const char *path, bool as_stream)
{
    if (!expecting || !path || strncmp(path, CODE, sizeof CODE - 1) ||
        python_opens_again(path, as_stream))
        return;
    expecting = false;
    wait_for_runs();
}

/* Looks up the C library's function of the same name, once. */
static void *real(void **found, const char *name)
{
    if (!*found)
        *found = dlsym(RTLD_NEXT, name);
    return *found;
}

static mode_t mode_of(int flags, va_list rest)
{
    return flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;
}

#define EXPORTED __attribute__((visibility("default")))
/* clang-format off */
#define DEFINE_OPEN(name)                                                                      \
    EXPORTED int name(const char *path, int flags, ...);                                                \
    int name(const char *path, int flags, ...)                                                 \
    {                                                                                          \
        static void *found;                                                                    \
        va_list rest;                                                                          \
        va_start(rest, flags);                                                                 \
        const mode_t mode = mode_of(flags, rest);                                              \
        va_end(rest);                                                                          \
        before_open(path, false);                                                              \
        return ((int (*)(const char *, int, ...))real(&found, #name))(path, flags, mode);      \
    }
#define DEFINE_CHECKED_OPEN(name)                                                              \
    EXPORTED int name(const char *path, int flags);                                                     \
    int name(const char *path, int flags)                                                      \
    {                                                                                          \
        static void *found;                                                                    \
        before_open(path, false);                                                              \
        return ((int (*)(const char *, int))real(&found, #name))(path, flags);                 \
    }
#define DEFINE_FOPEN(name)                                                                     \
    EXPORTED FILE *name(const char *path, const char *mode);                                            \
    FILE *name(const char *path, const char *mode)                                             \
    {                                                                                          \
        static void *found;                                                                    \
        before_open(path, true);                                                               \
        FILE *bytecode = open_python_bytecode();                                               \
        if (bytecode)                                                                          \
            return bytecode;                                                                   \
        return ((FILE *(*)(const char *, const char *))real(&found, #name))(path, mode);       \
    }
/* clang-format on */

DEFINE_OPEN(open)
DEFINE_OPEN(open64)
DEFINE_CHECKED_OPEN(__open_2)
DEFINE_CHECKED_OPEN(__open64_2)
DEFINE_FOPEN(fopen)
DEFINE_FOPEN(fopen64)
