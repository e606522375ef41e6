#define _GNU_SOURCE
#include "kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int kernel_open_tree(int dir, const char *path, unsigned flags)
{
    return (int)syscall(SYS_open_tree, dir, path, flags);
}

int kernel_move_mount(int from, const char *from_path, int to, const char *to_path,
                      unsigned flags)
{
    return (int)syscall(SYS_move_mount, from, from_path, to, to_path, flags);
}

int kernel_mount_setattr(int dir, const char *path, unsigned flags, struct mount_attr *attr)
{
    return (int)syscall(SYS_mount_setattr, dir, path, flags, attr, sizeof *attr);
}

int kernel_mount(const char *source, const char *target, const char *type, unsigned long flags,
                 const char *data)
{
    return (int)syscall(SYS_mount, source, target, type, flags, data);
}

int kernel_umount(const char *target, int flags)
{
    return (int)syscall(SYS_umount2, target, flags);
}

int kernel_pivot_root(const char *new_root, const char *put_old)
{
    return (int)syscall(SYS_pivot_root, new_root, put_old);
}

int kernel_close_range(unsigned first, unsigned last, unsigned flags)
{
    return (int)syscall(SYS_close_range, first, last, flags);
}

pid_t kernel_fork(uint64_t flags, int cgroup)
{
    struct clone_args args = {.flags = flags, .exit_signal = SIGCHLD};
    if (cgroup >= 0) {
        args.flags |= CLONE_INTO_CGROUP;
        args.cgroup = (uint64_t)cgroup;
    }
    return (pid_t)syscall(SYS_clone3, &args, sizeof args);
}

int put_text(int fd, const char *text)
{
    size_t bytes = strlen(text);
    ssize_t done = pwrite(fd, text, bytes, 0);
    return done == (ssize_t)bytes ? 0 : -1;
}

int put_number(int fd, uint64_t number)
{
    char text[32];
    snprintf(text, sizeof text, "%" PRIu64, number);
    return put_text(fd, text);
}

int write_text(int dir, const char *path, const char *text)
{
    int fd = openat(dir, path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    ssize_t done = write(fd, text, strlen(text)); /* some files of /proc refuse pwrite */
    int saved = errno;
    close(fd);
    errno = saved;
    return done == (ssize_t)strlen(text) ? 0 : -1;
}

ssize_t get_text(int fd, char *buffer, size_t bytes)
{
    ssize_t got = pread(fd, buffer, bytes - 1, 0);
    buffer[got > 0 ? got : 0] = 0;
    return got;
}

uint64_t get_number(int fd)
{
    char text[64];
    return get_text(fd, text, sizeof text) > 0 ? strtoull(text, NULL, 10) : 0;
}

uint64_t get_keyed(int fd, const char *key)
{
    char text[8192];
    if (get_text(fd, text, sizeof text) <= 0)
        return 0;
    size_t length = strlen(key);
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (!strncmp(line, key, length) && line[length] == ' ')
            return strtoull(line + length + 1, NULL, 10);
    }
    return 0;
}
