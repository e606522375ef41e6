/* System calls, most of them with the secret token; kernel.h explains it. */
#define _GNU_SOURCE
#include "kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#endif

#ifndef MNT_DETACH
#define MNT_DETACH 2
#endif

/* Inlined, so that a child that shares our stack can't overwrite a return address on it. */
__attribute__((always_inline)) static inline long raw_call(long number, long a, long b, long c,
                                                           long d, long e, long f)
{
#if defined(__x86_64__)
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
#elif defined(__aarch64__)
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    register long x4 __asm__("x4") = e;
    register long x5 __asm__("x5") = f;
    __asm__ volatile("svc 0"
                     : "+r"(x0)
                     : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
                     : "memory");
    return x0;
#else
#error "the runner supports x86-64 and aarch64"
#endif
}

static long set_errno(long result)
{
    if (result >= 0)
        return result;
    errno = (int)-result;
    return -1;
}

static long token_call(long number, long a, long b, long c, long d, long e, uint64_t token)
{
    return set_errno(raw_call(number, a, b, c, d, e, (long)token));
}

int kernel_open_tree(int dir, const char *path, unsigned flags)
{
    return (int)syscall(SYS_open_tree, dir, path, flags);
}

int kernel_move_mount(int from, int to, const char *to_path, uint64_t token)
{
    return (int)token_call(SYS_move_mount, from, (long)"", to, (long)to_path,
                           MOVE_MOUNT_F_EMPTY_PATH, token);
}

int kernel_mount_setattr(int dir, const char *path, unsigned flags, struct mount_attr *attr)
{
    return (int)syscall(SYS_mount_setattr, dir, path, flags, attr, sizeof *attr);
}

int kernel_mount(const char *source, const char *target, const char *type, unsigned long flags,
                 const char *data, uint64_t token)
{
    return (int)token_call(SYS_mount, (long)source, (long)target, (long)type, (long)flags,
                           (long)data, token);
}

int kernel_unmount(const char *target, uint64_t token)
{
    return (int)token_call(SYS_umount2, (long)target, MNT_DETACH, 0, 0, 0, token);
}

int kernel_pivot_root(const char *new_root, const char *put_old)
{
    return (int)syscall(SYS_pivot_root, new_root, put_old);
}

int kernel_close_range(unsigned first, unsigned last, unsigned flags)
{
    return (int)syscall(SYS_close_range, first, last, flags);
}

int kernel_unshare(unsigned long flags, uint64_t token)
{
    return (int)token_call(SYS_unshare, (long)flags, 0, 0, 0, 0, token);
}

int kernel_drop_capabilities(uint64_t token)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[2] = {{0}};
    return (int)token_call(SYS_capset, (long)&head, (long)none, 0, 0, 0, token);
}

int kernel_make_inheritable(uint32_t capabilities)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2];
    if (syscall(SYS_capget, &head, data))
        return -1;
    data[0].inheritable |= capabilities;
    return (int)syscall(SYS_capset, &head, data);
}

int kernel_keep_capabilities(uint32_t capabilities, uint64_t token)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2] = {{capabilities, capabilities, capabilities}};
    return (int)token_call(SYS_capset, (long)&head, (long)data, 0, 0, 0, token);
}

int kernel_execve(const char *path, char *const argv[], char *const envp[], uint64_t token)
{
    return (int)token_call(SYS_execve, (long)path, (long)argv, (long)envp, 0, 0, token);
}

int kernel_ioctl(int fd, unsigned long request, void *argument, uint64_t token)
{
    return (int)token_call(SYS_ioctl, fd, (long)request, (long)argument, 0, 0, token);
}

ssize_t kernel_recvmsg(int socket, struct msghdr *message, int flags, uint64_t token)
{
    return token_call(SYS_recvmsg, socket, (long)message, flags, 0, 0, token);
}

#define MAX_SENT 3

static int send_with(int socket, const void *data, size_t bytes, const int *fds, size_t count,
                     uint64_t token)
{
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(MAX_SENT * sizeof(int))];
    } control = {0};
    struct iovec part = {(void *)(uintptr_t)data, bytes};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    if (count) {
        message.msg_control = &control;
        message.msg_controllen = CMSG_SPACE(count * sizeof(int));
        control.head.cmsg_level = SOL_SOCKET;
        control.head.cmsg_type = SCM_RIGHTS;
        control.head.cmsg_len = CMSG_LEN(count * sizeof(int));
        memcpy(CMSG_DATA(&control.head), fds, count * sizeof(int));
    }
    long sent = token_call(SYS_sendmsg, socket, (long)&message, MSG_NOSIGNAL, 0, 0, token);
    return sent < 0 ? -1 : 0;
}

int kernel_send(int socket, const void *data, size_t bytes, int fd, uint64_t token)
{
    return send_with(socket, data, bytes, &fd, fd >= 0, token);
}

int kernel_send_stdio(int socket, const void *data, size_t bytes, const int fds[3],
                      uint64_t token)
{
    return send_with(socket, data, bytes, fds, 3, token);
}

int kernel_count_ipc(uint64_t token)
{
    struct shm_info shared;
    struct seminfo semaphores;
    struct msginfo queues;
    if (token_call(SYS_shmctl, 0, SHM_INFO, (long)&shared, 0, 0, token) < 0 ||
        token_call(SYS_semctl, 0, 0, SEM_INFO, (long)&semaphores, 0, token) < 0 ||
        token_call(SYS_msgctl, 0, MSG_INFO, (long)&queues, 0, 0, token) < 0)
        return -1;
    return shared.used_ids + semaphores.semusz +
           queues.msgpool; /* the fields in which the kernel returns the counts */
}

pid_t kernel_fork(uint64_t flags)
{
    struct clone_args args = {.flags = flags, .exit_signal = SIGCHLD};
    return (pid_t)syscall(SYS_clone3, &args, sizeof args);
}

__attribute__((noinline)) pid_t kernel_vfork(uint64_t flags, int cgroup, void (*body)(void *),
                                             void *argument, uint64_t token)
{
    struct clone_args args = {.flags = flags | CLONE_VM | CLONE_VFORK, .exit_signal = SIGCHLD};
    if (cgroup >= 0) {
        args.flags |= CLONE_INTO_CGROUP;
        args.cgroup = (uint64_t)cgroup;
    }
    long child = raw_call(SYS_clone3, (long)&args, sizeof args, 0, 0, 0, (long)token);
    if (child == 0) {
        body(argument);
        __builtin_trap();
    }
#ifdef __SANITIZE_ADDRESS__
    /* A child that was killed inside a function left its stack frames marked as in use. */
    __asan_unpoison_memory_region((char *)__builtin_frame_address(0) - (256 << 10), 256 << 10);
#endif
    return (pid_t)set_errno(child);
}

int write_fd_text(int fd, const char *text)
{
    size_t bytes = strlen(text);
    ssize_t done = pwrite(fd, text, bytes, 0);
    return done == (ssize_t)bytes ? 0 : -1;
}

int write_fd_number(int fd, uint64_t number)
{
    char text[32];
    snprintf(text, sizeof text, "%" PRIu64, number);
    return write_fd_text(fd, text);
}

int write_text(int dir, const char *path, const char *text)
{
    int fd = openat(dir, path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    ssize_t done = write(fd, text, strlen(text)); /* some files in /proc refuse pwrite */
    int saved = errno;
    close(fd);
    errno = saved;
    return done == (ssize_t)strlen(text) ? 0 : -1;
}

ssize_t read_fd_text(int fd, char *buffer, size_t bytes)
{
    ssize_t got = pread(fd, buffer, bytes - 1, 0);
    buffer[got > 0 ? got : 0] = 0;
    return got;
}

uint64_t read_fd_number(int fd)
{
    char text[64];
    return read_fd_text(fd, text, sizeof text) > 0 ? strtoull(text, NULL, 10) : 0;
}

uint64_t find_keyed(const char *text, const char *key)
{
    size_t length = strlen(key);
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (!strncmp(line, key, length) && line[length] == ' ')
            return strtoull(line + length + 1, NULL, 10);
    }
    return 0;
}

uint64_t read_fd_keyed(int fd, const char *key)
{
    char text[8192];
    return read_fd_text(fd, text, sizeof text) > 0 ? find_keyed(text, key) : 0;
}
