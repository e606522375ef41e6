/* Keeps an interpreter that has started, and gives a run a copy of it.
 *
 * To start takes an interpreter ten times as long as to be copied. So init starts the interpreter of
 * a run only as far as its program (runner/warm/warm.c, which is preloaded, makes it wait there) and
 * keeps it for the next runs with the same command. It never reads a file of a submission: while it
 * starts, a tmpfs with an empty program, the cover, is on top of /code.
 *
 * Processes
 *   The interpreter has a high pid in the pid namespace of its init, and dies with it. It is root of
 *   the slot's user namespace, so that programs can't send it signals, and the /proc of programs
 *   doesn't show it. Its copies are children of init and have pid 2, as programs have that init
 *   starts itself.
 *
 * Memory
 *   The interpreter's memory is nobody's: a run is charged for the pages that its copy changes.
 *   Reference counts change most of them soon. */
#define _GNU_SOURCE
#include "warm.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "init.h"
#include "kernel.h"
#include "state.h"

#define LAST_PID_BEFORE  "29999" /* programs count from 2; some kernels end at 32768 */
#define START_TIMEOUT_MS 10000
#define COPY_TIMEOUT_MS  10000
#define START_BYTES      (UINT64_C(1) << 30)
#define START_PROCESSES  64
#define LEAST_STACK      (UINT64_C(1) << 20) /* with less, interpreters may fail to start */
#define COVER            "/run/"             /* where the files of the cover are made */
#define MAX_FAILURES     3   /* in a row: then the slot starts none for a while */
#define COLD_RUNS        100 /* so many runs start without one, then it tries again */

/* The library, which the runner contains. */
extern const char warm_library[], warm_library_end[];
__asm__(".section .rodata\n"
        ".global warm_library, warm_library_end\n"
        "warm_library: .incbin \"" WARM_BUILT "\"\n"
        "warm_library_end:\n"
        ".previous\n");

unsigned warm_alive(const struct run *run)
{
    return run->warm.pid > 0;
}

static void end_interpreter(struct run *run)
{
    if (run->warm.pid <= 0)
        return;
    kill(run->warm.pid, SIGKILL);
    while (waitpid(run->warm.pid, NULL, __WALL) < 0 && errno == EINTR)
        ;
    run->warm.pid = 0;
}

/* ---- messages ---- */

/* Reaps dead children; false if one of them was the interpreter or its newest copy. */
static bool children_live(struct run *run)
{
    struct signalfd_siginfo drained;
    while (read(run->children, &drained, sizeof drained) > 0)
        ;
    bool live = true;
    for (pid_t pid; (pid = waitpid(-1, NULL, WNOHANG | __WALL)) > 0; live = false)
        if (pid == run->warm.pid)
            run->warm.pid = 0;
    return live;
}

/* Waits for a message of the interpreter or a copy, which may make the call `trusted` meanwhile. */
static int await_answer(struct run *run, int trusted, int timeout_ms,
                        struct warm_answer *answer)
{
    const struct slot *slot = run->slot;
    enum { SOCKET, CHILDREN, LISTENER, WATCHED };
    struct pollfd watched[WATCHED] = {[SOCKET] = {slot->warm[0], POLLIN, 0},
                                      [CHILDREN] = {run->children, POLLIN, 0},
                                      [LISTENER] = {slot->listener, POLLIN, 0}};
    for (;;) {
        int ready = poll(watched, WATCHED, timeout_ms);
        if (ready <= 0 && !(ready < 0 && errno == EINTR))
            return -1;
        if (ready > 0 && watched[SOCKET].revents)
            return read(slot->warm[0], answer, sizeof *answer) == sizeof *answer ? 0 : -1;
        if (ready > 0 && watched[LISTENER].revents & POLLIN && notify_answer(run, trusted))
            return -1;
        if (ready > 0 && watched[CHILDREN].revents && !children_live(run))
            return -1;
    }
}

/* Removes what an earlier interpreter has not read or init has not. */
static void drain_sockets(const struct slot *slot)
{
    char bytes[sizeof(struct warm_request)];
    const int ends[] = {slot->warm[0], slot->warm[1], slot->warm_pipe[0]};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        struct pollfd end = {ends[i], POLLIN, 0};
        while (poll(&end, 1, 0) == 1 && read(ends[i], bytes, sizeof bytes) > 0)
            ;
    }
}

/* Gives up on the interpreter; the run starts without it. A copy that has not answered in time would
 * run the program, too. */
static int give_up(struct run *run)
{
    kill(-1, SIGKILL);
    while (waitpid(-1, NULL, __WALL) > 0 || errno == EINTR)
        ;
    run->warm.pid = 0;
    drain_sockets(run->slot); /* of the run's streams, which would stay open */
    run->warm.chosen = false;
    if (++run->slot->shared->warm_failures >= MAX_FAILURES)
        run->slot->shared->cold_runs = COLD_RUNS;
    run->report->end = END_NONE; /* a forbidden call of the interpreter is not the program's */
    return -1;
}

/* ---- starting an interpreter ---- */

/* An interpreter looks at its streams when it starts, so it gets some of the same kind. */
static int stream_like(mode_t kind, int fd)
{
    int ends[2];
    switch (kind) {
    case S_IFREG:
        return open(COVER ".stream", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    case S_IFCHR:
        return open("/dev/null", O_RDWR | O_CLOEXEC);
    default:
        if (pipe2(ends, O_CLOEXEC))
            return -1;
        close(ends[fd == 0]);
        return ends[fd != 0];
    }
}

static bool streams_known(const int fds[3], mode_t kinds[3])
{
    for (int i = 0; i < 3; i++) {
        struct stat status;
        if (fstat(fds[i], &status))
            return false;
        kinds[i] = status.st_mode & S_IFMT;
        if (kinds[i] != S_IFREG && kinds[i] != S_IFIFO &&
            !(kinds[i] == S_IFCHR && status.st_rdev == makedev(1, 3)))
            return false;
    }
    return true;
}

static int write_library(void)
{
    int fd = open(COVER WARM_LIBRARY_NAME, O_WRONLY | O_CREAT | O_CLOEXEC, 0755);
    if (fd < 0)
        return -1;
    const size_t bytes = (size_t)(warm_library_end - warm_library);
    const bool written = write(fd, warm_library, bytes) == (ssize_t)bytes;
    close(fd);
    return written ? 0 : -1;
}

/* Creates an empty file for the program: the first argument that names a file in /code. Those after
 * it are the program's own, and may name anything. */
static int write_empty_program(const struct run *run)
{
    char *const *word = run->request.argv;
    while (*word && strncmp(*word, "/code/", 6))
        word++;
    if (!*word || strchr(*word + 6, '/'))
        return 0;
    char path[PATH_MAX];
    snprintf(path, sizeof path, COVER "%s", *word + 6);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    return fd < 0 ? -1 : close(fd);
}

/* Makes a tmpfs at /run with the library and an empty program, and returns a descriptor of it.
 * uncover() removes it from wherever it is. */
static int make_cover(const struct run *run)
{
    const uint64_t token = run->slot->token;
    if (kernel_mount("tmpfs", "/run", "tmpfs", MS_NOSUID | MS_NODEV,
                     "size=256k,nr_inodes=64,mode=755", token))
        return -1;
    int cover = open("/run", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (cover >= 0 && write_library() == 0 && write_empty_program(run) == 0)
        return cover;
    if (cover >= 0)
        close(cover);
    (void)kernel_unmount("/run", token);
    return -1;
}

static bool is_mounted_at(const char *path, dev_t device)
{
    struct stat status;
    return stat(path, &status) == 0 && status.st_dev == device;
}

/* Removes the cover, and tells whether it was on /code until now. It is named by its descriptor: if
 * the host has removed the directory of a submission whose run was cancelled, the cover on it is
 * gone, and what is at /code is the submission's own mount. */
static bool uncover(const struct run *run, int cover, struct fault *fault)
{
    const uint64_t token = run->slot->token;
    struct stat status;
    if (fstat(cover, &status)) {
        fail(fault, "uncover-code");
        return false;
    }
    const bool covered = kernel_move_mount(cover, AT_FDCWD, "/run", token) == 0;
    close(cover);
    if (is_mounted_at("/run", status.st_dev))
        (void)kernel_unmount("/run", token);
    if (is_mounted_at("/run", status.st_dev) || is_mounted_at("/code", status.st_dev))
        fail_with(fault, "uncover-code", EBUSY);
    return covered;
}

static int set_interpreter_limits(const struct run *run)
{
    struct program_limit limits[PROGRAM_LIMITS];
    const size_t count = program_limits(run, limits);
    for (size_t i = 0; i < count; i++)
        if ((limits[i].resource == RLIMIT_STACK || limits[i].resource == RLIMIT_NOFILE) &&
            set_limit((int)limits[i].resource, limits[i].max))
            return -1;
    return 0;
}

/* Gives the interpreter its two descriptors, and no other. They may have these numbers already, so
 * this copies them to higher ones first. */
static int give_descriptors(const struct slot *slot)
{
    const int above = (WARM_SOCKET > WARM_PIPE ? WARM_SOCKET : WARM_PIPE) + 1;
    const int socket = fcntl(slot->warm[1], F_DUPFD_CLOEXEC, above);
    const int pipe = fcntl(slot->warm_pipe[0], F_DUPFD_CLOEXEC, above);
    if (socket < 0 || pipe < 0 || kernel_close_range(3, ~0U, CLOSE_RANGE_CLOEXEC))
        return -1;
    return dup2(socket, WARM_SOCKET) < 0 || dup2(pipe, WARM_PIPE) < 0 ? -1 : 0;
}

static int start_interpreter(void *argument)
{
    struct run *run = argument;
    struct slot *slot = run->slot;
    char *const *old = run->request.envp;
    /* Without the second, each copy would look up the functions that it calls again. */
    static char preload[] = "LD_PRELOAD=" WARM_LIBRARY, bind[] = "LD_BIND_NOW=1";
    char *environment[WIRE_MAX_STRINGS + 3];
    size_t count = 0;
    for (; old[count]; count++)
        environment[count] = old[count];
    environment[count++] = preload; /* last, so that the interpreter can wipe them out */
    environment[count++] = bind;
    environment[count] = NULL;
    sigset_t none;
    sigemptyset(&none);
    if (setpgid(0, 0) || sigprocmask(SIG_SETMASK, &none, NULL) ||
        prefer_for_oom_kill(slot->proc))
        goto failed;
    for (int fd = 0; fd < 3; fd++)
        if (dup2(run->warm.streams[fd], fd) < 0)
            goto failed;
    if (give_descriptors(slot) || chdir("/") || set_interpreter_limits(run) ||
        kernel_keep_capabilities(WARM_CAPABILITIES, slot->token))
        goto failed;
    kernel_execve(run->request.argv[0], run->request.argv, environment, slot->token);
failed:
    _exit(127);
}

/* Starts the interpreter, with /code covered, and waits until it is ready. */
static int start_covered(struct run *run, int cover)
{
    struct warm *warm = &run->warm;
    struct warm_answer answer;
    int opened = 0;
    for (; opened < 3; opened++)
        if ((warm->streams[opened] = stream_like(warm->kinds[opened], opened)) < 0)
            break;
    if (opened == 3 && kernel_move_mount(cover, AT_FDCWD, "/code", run->slot->token) == 0 &&
        write_fd_text(run->last_pid, LAST_PID_BEFORE) == 0)
        warm->pid =
            clone(start_interpreter, child_stack(run), CLONE_VM | CLONE_VFORK | SIGCHLD, run);
    while (opened--)
        close(warm->streams[opened]);
    return warm->pid <= 0 || await_answer(run, SYS_capset, START_TIMEOUT_MS, &answer) ||
                   answer.error
               ? -1
               : 0;
}

static int start_warm(struct run *run, struct fault *fault)
{
    struct warm *warm = &run->warm;
    struct slot *slot = run->slot;
    struct meter *meter = &slot->shared->meter;
    const struct request_head *head = &run->request.head;
    const struct standing nobody = {0};
    drain_sockets(slot);
    if (meter_begin(meter, START_BYTES, START_PROCESSES, 0, &nobody, fault))
        return -1;
    warm->head = *head;
    memcpy(warm->text, run->packet + sizeof *head, head->text_bytes);
    const uint64_t before = meter_held_bytes(meter);
    const int cover = make_cover(run);
    const bool started = cover >= 0 && start_covered(run, cover) == 0;
    const uint64_t now = meter_held_bytes(meter);
    warm->bytes = now > before ? now - before : 0;
    const bool covered = cover >= 0 && uncover(run, cover, fault);
    warm->chosen = started && covered;
    if (!warm->chosen)
        give_up(run);
    if (!fault->error)
        return 0;
    slot->shared->init_died = true; /* the cover may be in the way of the next runs */
    return -1;
}

/* ---- before and at the start of a run ---- */

/* Whether the interpreter is the one that this command would start. */
static bool same_command(const struct run *run, const mode_t kinds[3])
{
    const struct request_head *a = &run->warm.head, *b = &run->request.head;
    return run->warm.pid > 0 && a->argc == b->argc && a->envc == b->envc &&
           a->view == b->view && a->profile == b->profile && a->stack_bytes == b->stack_bytes &&
           a->open_files == b->open_files && a->text_bytes == b->text_bytes &&
           !memcmp(run->warm.text, run->packet + sizeof *b, b->text_bytes) &&
           !memcmp(run->warm.kinds, kinds, 3 * sizeof *kinds);
}

int warm_prepare(struct run *run, struct fault *fault)
{
    const struct request_head *head = &run->request.head;
    mode_t kinds[3];
    run->warm.chosen = false;
    if (!(head->flags & REQUEST_WARM) || head->flags & NEEDS_NEW_INIT || run->last_pid < 0 ||
        head->envc >= WIRE_MAX_STRINGS ||
        (head->stack_bytes && head->stack_bytes < LEAST_STACK) ||
        !streams_known(run->stdio, kinds))
        return 0;
    if (run->slot->shared->cold_runs) {
        run->slot->shared->cold_runs--;
        return 0;
    }
    if (same_command(run, kinds)) {
        run->warm.chosen = true;
        return 0;
    }
    end_interpreter(run);
    memcpy(run->warm.kinds, kinds, sizeof kinds);
    return start_warm(run, fault);
}

int warm_start_program(struct run *run)
{
    struct warm_request request = {.uid = PROGRAM_ID};
    struct warm_answer answer;
    struct program_limit limits[PROGRAM_LIMITS];
    request.limit_count = (uint32_t)program_limits(run, limits);
    for (uint32_t i = 0; i < request.limit_count; i++) {
        request.limits[i].resource = limits[i].resource;
        request.limits[i].max = limits[i].max;
    }
    const struct slot *slot = run->slot;
    if (write(slot->warm_pipe[1], "g", 1) != 1 ||
        kernel_send_stdio(slot->warm[0], &request, sizeof request, run->stdio, slot->token) ||
        await_answer(run, SYS_recvmsg, COPY_TIMEOUT_MS, &answer) || answer.error)
        return give_up(run);
    run->program = answer.pid;
    run->slot->shared->warm_failures = 0;
    return 0;
}
