/* System calls that the C library doesn't wrap everywhere, and small readers and writers of
 * kernel files. */
#ifndef DEEMSTER_KERNEL_H
#define DEEMSTER_KERNEL_H

#include <linux/mount.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

/* Calls marked `word` are refused by a slot's seccomp filter unless their sixth register,
 * which none of them uses, holds the slot's secret word: programs run under the same filter
 * and don't know it (docs/adr/0003). */

int kernel_open_tree(int dir, const char *path, unsigned flags);
int kernel_move_mount(int from, int to, const char *to_path, uint64_t word);
int kernel_mount_setattr(int dir, const char *path, unsigned flags, struct mount_attr *attr);
int kernel_mount(const char *source, const char *target, const char *type, unsigned long flags,
                 const char *data, uint64_t word);
int kernel_unmount(const char *target,
                   uint64_t word); /* lazily: whoever still uses it is dead or dying */
int kernel_pivot_root(const char *new_root, const char *put_old);
int kernel_close_range(unsigned first, unsigned last, unsigned flags);
int kernel_unshare(unsigned long flags, uint64_t word);
int kernel_drop_capabilities(uint64_t word);
int kernel_execve(const char *path, char *const argv[], char *const envp[], uint64_t word);
int kernel_ioctl(int fd, unsigned long request, void *argument, uint64_t word);
ssize_t kernel_recvmsg(int socket, struct msghdr *message, int flags, uint64_t word);
/* Sends one packet, with a descriptor unless `fd` is -1. */
int kernel_send(int socket, const void *data, size_t bytes, int fd, uint64_t word);
/* How many SysV objects of any kind there are in this ipc namespace; -1: can't say. */
int kernel_count_ipc(uint64_t word);

/* A child in new namespaces, with memory of its own. */
pid_t kernel_fork(uint64_t flags);
/* Runs `body`, which never returns, in a child that borrows our memory and stack while we
 * stand still until it is gone (as vfork does), born in the v2 cgroup of descriptor
 * `cgroup` unless that is -1. */
pid_t kernel_lend(uint64_t flags, int cgroup, void (*body)(void *), void *argument,
                  uint64_t word);

int write_text(int dir, const char *path, const char *text);
int put_text(int fd, const char *text);
int put_number(int fd, uint64_t number);
ssize_t get_text(int fd, char *buffer, size_t bytes);
uint64_t get_number(int fd);
/* The number behind `key` at a line's start of the text; 0 when it isn't there. */
uint64_t find_keyed(const char *text, const char *key);
/* The same, of a file. */
uint64_t get_keyed(int fd, const char *key);

#endif
