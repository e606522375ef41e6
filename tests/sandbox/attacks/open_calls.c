/* Rules: X1 X4 X7
 * Attack: makes unprivileged calls that have often been used to break out of a sandbox.
 * Each: io_uring_enter io_uring_register add_key request_key keyctl syslog cachestat
 * Each: name_to_handle_at modify_ldt shmget semget msgget mq_open kcmp quotactl setxattr
 * Expect: forbidden_syscall $1 | signalled SIGSYS
 * Only SECCOMP: forbidden_syscall $1 | signalled SIGSYS
 */
#include "attack.h"
#include <sys/ipc.h>

#ifndef SYS_cachestat
#define SYS_cachestat 451
#endif

static void try_call(const char *name)
{
    char memory[256] = {0};
#define TRY(call, ...)                                                                         \
    do {                                                                                       \
        if (strcmp(name, #call) == 0)                                                          \
            syscall(SYS_##call, __VA_ARGS__);                                                  \
    } while (0)
    TRY(io_uring_enter, -1, 0, 0, 0, NULL, 0);
    TRY(io_uring_register, -1, 0, NULL, 0);
    TRY(add_key, "user", "planted", "x", 1, -4);
    TRY(request_key, "user", "planted", NULL, 0);
    TRY(keyctl, 0, -3, 1);
    TRY(syslog, 3, memory, sizeof memory);
    TRY(name_to_handle_at, AT_FDCWD, "/", memory, memory, 0);
    TRY(modify_ldt, 0, memory, sizeof memory);
    TRY(shmget, IPC_PRIVATE, 4096, IPC_CREAT | 0600);
    TRY(semget, IPC_PRIVATE, 1, IPC_CREAT | 0600);
    TRY(msgget, IPC_PRIVATE, IPC_CREAT | 0600);
    TRY(mq_open, "planted", O_CREAT | O_RDWR, 0600, NULL);
    TRY(cachestat, STDIN_FILENO, memory, memory, 0);
    TRY(kcmp, 1, 1, 0, 0, 0);
    TRY(quotactl, 0x80000200, NULL, 0, NULL);
    TRY(setxattr, "/work", "user.planted", "x", 1, 0);
}

int main(int count, char **arguments)
{
    start();
    const char *name = count > 1 ? arguments[1] : "";
    try_call(name);
    got_through("%s: %s", name, strerror(errno));
    return held();
}
