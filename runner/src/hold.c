/* Holds a program's stdin and stdout open in its init, if they are pipes to another run (PAIRED),
 * so that the other program notices this one's end only after that end was recorded.
 *
 * The kernel closes the files of a dying process before it notifies the parent. The other program
 * could then read end of file, react, and seem to end first. While init has the same pipe ends
 * open, the other program notices nothing. Init's own exit closes them, when ended_ns is in the
 * report. So if one program ends because the other did, it always has the higher ended_ns.
 *
 * A program may also close a pipe and go on, which the other program must notice soon. The kernel
 * does not tell how many processes have a pipe open. So init checks now and then whether the
 * program's descriptor 0 or 1 is still that pipe; if not, whether any descriptor of the run is.
 * It closes its own end only if none is and the program is not dying. (Closing it briefly to see
 * whether it was the last one would reveal a death that happens in that moment.) */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "init.h"

#define PF_EXITING 0x4 /* of /proc/<pid>/stat; set before a process's files are closed */
/* Init checks at most so many descriptors; beyond that it assumes that the pipe is open. */
#define MAX_DESCRIPTORS 4096

int hold_pipes(struct run *run, struct fault *fault)
{
    for (int number = 0; number < 2; number++) {
        struct held_pipe *held = &run->pipes[number];
        struct stat status;
        if (fstat(run->stdio[number], &status))
            return fail(fault, "hold-pipe");
        if (!S_ISFIFO(status.st_mode))
            return fail_with(fault, "hold-pipe", EINVAL);
        *held = (struct held_pipe){run->stdio[number], status.st_dev, status.st_ino};
    }
    return 0;
}

static bool is_same_pipe(const struct held_pipe *held, int pid, int number)
{
    char path[64];
    struct stat status;
    snprintf(path, sizeof path, "/proc/%d/fd/%d", pid, number);
    return stat(path, &status) == 0 && status.st_ino == held->inode &&
           status.st_dev == held->device;
}

/* Lists the numeric names in a directory without the heap, which init shares with the spawner:
 * init may be killed at any moment. */
struct numeric_entries {
    int dir;
    ssize_t at, end;
    char buffer[4096] __attribute__((aligned(8)));
};

static bool entries_open(struct numeric_entries *list, const char *path)
{
    list->at = list->end = 0;
    list->dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return list->dir >= 0;
}

/* Returns the next number, or -1 at the end. */
static int entries_next(struct numeric_entries *list)
{
    for (;;) {
        if (list->at >= list->end) {
            list->at = 0;
            list->end = getdents64(list->dir, list->buffer, sizeof list->buffer);
            if (list->end <= 0) {
                close(list->dir);
                return -1;
            }
        }
        const struct dirent64 *entry = (const void *)(list->buffer + list->at);
        list->at += entry->d_reclen;
        char *tail;
        long number = strtol(entry->d_name, &tail, 10);
        if (tail != entry->d_name && !*tail)
            return (int)number;
    }
}

/* Whether a process has the pipe open. A process can pass it on only by a fork, so none can hide
 * it by passing it around during the check. */
static bool process_has(const struct held_pipe *held, int pid, int *left)
{
    char path[64];
    struct numeric_entries files;
    snprintf(path, sizeof path, "/proc/%d/fd", pid);
    if (!entries_open(&files, path))
        return errno != ENOENT && errno != ESRCH; /* unreadable: assume that it is open */
    for (int number; (number = entries_next(&files)) >= 0;)
        if (--*left < 0 || is_same_pipe(held, pid, number)) {
            close(files.dir);
            return true;
        }
    return false;
}

static bool any_process_has(const struct held_pipe *held)
{
    struct numeric_entries processes;
    int left = MAX_DESCRIPTORS;
    if (!entries_open(&processes, "/proc"))
        return true;
    for (int pid; (pid = entries_next(&processes)) >= 0;)
        if (pid != 1 && pid != getpid() && process_has(held, pid, &left)) {
            close(processes.dir);
            return true;
        }
    return false;
}

/* Whether the program is exiting, although its parent was not notified yet. */
static bool is_dying(const struct run *run)
{
    char path[64], text[512];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)run->program);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = file < 0 ? 0 : read(file, text, sizeof text - 1);
    if (file >= 0)
        close(file);
    text[got > 0 ? got : 0] = 0;
    const char *tail = strrchr(text, ')'); /* the name before it may contain anything */
    unsigned flags;
    return !tail || sscanf(tail, ") %*c %*d %*d %*d %*d %*d %u", &flags) != 1 ||
           flags & PF_EXITING;
}

void release_closed_pipes(struct run *run)
{
    for (int number = 0; number < 2; number++) {
        struct held_pipe *held = &run->pipes[number];
        if (held->fd < 0 || is_same_pipe(held, run->program, number) || any_process_has(held))
            continue;
        /* Checked last: a dying program has no descriptors either. */
        if (is_dying(run))
            return;
        close(held->fd);
        held->fd = -1;
    }
}
