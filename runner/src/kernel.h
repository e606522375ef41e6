/* System calls that the C library doesn't wrap everywhere, and small readers and writers of kernel files. */
#ifndef DEEMSTER_KERNEL_H
#define DEEMSTER_KERNEL_H

#include <linux/mount.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

int kernel_open_tree(int dir, const char *path, unsigned flags);
int kernel_move_mount(int from, const char *from_path, int to, const char *to_path,
                      unsigned flags);
int kernel_mount_setattr(int dir, const char *path, unsigned flags, struct mount_attr *attr);
int kernel_mount(const char *source, const char *target, const char *type, unsigned long flags,
                 const char *data);
int kernel_umount(const char *target, int flags);
int kernel_pivot_root(const char *new_root, const char *put_old);
int kernel_close_range(unsigned first, unsigned last, unsigned flags);

/* fork() with namespaces; born in the v2 cgroup of descriptor `cgroup` unless that is -1. */
pid_t kernel_fork(uint64_t flags, int cgroup);

int write_text(int dir, const char *path, const char *text);
int put_text(int fd, const char *text);
int put_number(int fd, uint64_t number);
ssize_t get_text(int fd, char *buffer, size_t bytes);
uint64_t get_number(int fd);
/* The number behind `key` at a line's start; 0 when it isn't there. */
uint64_t get_keyed(int fd, const char *key);

#endif
