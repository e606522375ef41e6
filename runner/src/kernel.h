/* System calls that the C library does not wrap everywhere, and functions to read and write files
 * of the kernel. */
#ifndef DEEMSTER_KERNEL_H
#define DEEMSTER_KERNEL_H

#include <linux/mount.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

/* Functions with a parameter `token` make calls that a slot's seccomp filter refuses unless the
 * sixth argument register, which none of these calls uses, contains the runner's secret token.
 * Programs run under the same filter and don't know the token (docs/adr/0003). */

int kernel_open_tree(int dir, const char *path, unsigned flags);
int kernel_move_mount(int from, int to, const char *to_path, uint64_t token);
int kernel_mount_setattr(int dir, const char *path, unsigned flags, struct mount_attr *attr);
int kernel_mount(const char *source, const char *target, const char *type, unsigned long flags,
                 const char *data, uint64_t token);
int kernel_unmount(const char *target,
                   uint64_t token); /* lazily: the processes that use it are dead or dying */
int kernel_pivot_root(const char *new_root, const char *put_old);
int kernel_close_range(unsigned first, unsigned last, unsigned flags);
int kernel_unshare(unsigned long flags, uint64_t token);
int kernel_drop_capabilities(uint64_t token);
/* Lets a program that this process executes inherit these capabilities; before the bounding set is
 * dropped. */
int kernel_make_inheritable(uint32_t capabilities);
/* Keeps only these capabilities, and lets the next program inherit them. */
int kernel_keep_capabilities(uint32_t capabilities, uint64_t token);
int kernel_execve(const char *path, char *const argv[], char *const envp[], uint64_t token);
int kernel_ioctl(int fd, unsigned long request, void *argument, uint64_t token);
ssize_t kernel_recvmsg(int socket, struct msghdr *message, int flags, uint64_t token);
/* Sends one packet, with a descriptor unless `fd` is -1. */
int kernel_send(int socket, const void *data, size_t bytes, int fd, uint64_t token);
/* Sends one packet with three descriptors. */
int kernel_send_stdio(int socket, const void *data, size_t bytes, const int fds[3],
                      uint64_t token);
/* Counts the SysV objects in this ipc namespace; -1 on errors. */
int kernel_count_ipc(uint64_t token);

/* Forks a child into new namespaces. */
pid_t kernel_fork(uint64_t flags);
/* Runs `body`, which never returns, in a child that shares our memory and stack. The caller is
 * suspended until the child has exited, as with vfork. The child starts in the v2 cgroup of the
 * descriptor `cgroup`, unless that is -1. */
pid_t kernel_vfork(uint64_t flags, int cgroup, void (*body)(void *), void *argument,
                   uint64_t token);

int write_text(int dir, const char *path, const char *text);
int write_fd_text(int fd, const char *text);
int write_fd_number(int fd, uint64_t number);
ssize_t read_fd_text(int fd, char *buffer, size_t bytes);
uint64_t read_fd_number(int fd);
/* Returns the number after `key` at the start of a line of the text; 0 if there is none. */
uint64_t find_keyed(const char *text, const char *key);
/* The same for a file. */
uint64_t read_fd_keyed(int fd, const char *key);

#endif
