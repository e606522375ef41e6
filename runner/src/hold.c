/* Holds a program's ends of the pipes that it shares with another run, so that the other learns
 * of this one's end only after that end was recorded.
 *
 * The kernel closes the files of a dying process before it tells the parent. Without a hold the
 * other program could see the end of its input, react, and be seen to end first. While init has
 * the same ends open nothing is to be seen; init lets go by its own exit, when ended_ns is in the
 * report. So of two ends of which one led to the other, that one always has the lower ended_ns.
 *
 * A program may also close an end and live on, and the other one has to see that soon. The kernel
 * tells nobody how many have a pipe open. So init looks now and then whether the program's own
 * descriptor still leads to it; if not, whether any descriptor of the run does; and lets go only
 * if none does and the program is not about to die. To let go for a moment instead, just to see
 * whether one was the last, would give a death away that happens in that moment. */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "init.h"

#define PF_EXITING 0x4 /* of /proc/<pid>/stat; set before a process's files are closed */
/* Descriptors looked at, at most: who has more is taken to have all. */
#define MOST_LOOKED_AT 4096

int holds_begin(struct run *run, struct fault *fault)
{
    for (int number = 0; number < 2; number++) {
        struct hold *hold = &run->holds[number];
        struct stat status;
        if (fstat(run->stdio[number], &status))
            return fail(fault, "hold-pipe");
        if (!S_ISFIFO(status.st_mode))
            return fail_with(fault, "hold-pipe", EINVAL);
        *hold = (struct hold){run->stdio[number], status.st_dev, status.st_ino};
    }
    return 0;
}

static bool leads_to(const struct hold *hold, int pid, int number)
{
    char path[64];
    struct stat status;
    snprintf(path, sizeof path, "/proc/%d/fd/%d", pid, number);
    return stat(path, &status) == 0 && status.st_ino == hold->inode &&
           status.st_dev == hold->device;
}

/* The numbers among a directory's entries, without memory from the heap: init only borrows it,
 * and may be killed at any moment. */
struct numbers {
    int dir;
    ssize_t at, end;
    char room[4096] __attribute__((aligned(8)));
};

static bool numbers_open(struct numbers *list, const char *path)
{
    list->at = list->end = 0;
    list->dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return list->dir >= 0;
}

/* -1 at the end. */
static int numbers_next(struct numbers *list)
{
    for (;;) {
        if (list->at >= list->end) {
            list->at = 0;
            list->end = getdents64(list->dir, list->room, sizeof list->room);
            if (list->end <= 0) {
                close(list->dir);
                return -1;
            }
        }
        const struct dirent64 *entry = (const void *)(list->room + list->at);
        list->at += entry->d_reclen;
        char *tail;
        long number = strtol(entry->d_name, &tail, 10);
        if (tail != entry->d_name && !*tail)
            return (int)number;
    }
}

/* Whether a process has it. It can't give it to another but by a fork, so no look is too early
 * or too late for it. */
static bool has(const struct hold *hold, int pid, int *left)
{
    char path[64];
    struct numbers files;
    snprintf(path, sizeof path, "/proc/%d/fd", pid);
    if (!numbers_open(&files, path))
        return errno != ENOENT && errno != ESRCH; /* who hides it, has it */
    for (int number; (number = numbers_next(&files)) >= 0;)
        if (--*left < 0 || leads_to(hold, pid, number)) {
            close(files.dir);
            return true;
        }
    return false;
}

static bool anyone_has(const struct hold *hold)
{
    struct numbers processes;
    int left = MOST_LOOKED_AT;
    if (!numbers_open(&processes, "/proc"))
        return true;
    for (int pid; (pid = numbers_next(&processes)) >= 0;)
        if (pid != 1 && pid != getpid() && has(hold, pid, &left)) {
            close(processes.dir);
            return true;
        }
    return false;
}

/* Whether the program is on its way out, though nobody was told yet. */
static bool is_dying(const struct run *run)
{
    char path[64], text[512];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)run->program);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = file < 0 ? 0 : read(file, text, sizeof text - 1);
    if (file >= 0)
        close(file);
    text[got > 0 ? got : 0] = 0;
    const char *tail = strrchr(text, ')'); /* the name before it may hold anything */
    unsigned flags;
    return !tail || sscanf(tail, ") %*c %*d %*d %*d %*d %*d %u", &flags) != 1 ||
           flags & PF_EXITING;
}

void holds_look(struct run *run)
{
    for (int number = 0; number < 2; number++) {
        struct hold *hold = &run->holds[number];
        if (hold->fd < 0 || leads_to(hold, run->program, number) || anyone_has(hold))
            continue;
        /* Last: a dying program has no descriptors either. */
        if (is_dying(run))
            return;
        close(hold->fd);
        hold->fd = -1;
    }
}
