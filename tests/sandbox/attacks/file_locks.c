/* Rules: X9 X5
 * Attack: takes locks, leases and notices on files that all boxes share, and as many locks as the
 *         kernel gives it: no limit counts their memory.
 * Expect: ok
 */
#include "attack.h"
#include <sys/file.h>

static const char *const FILES[] = {"/code/attack", "/usr/lib", "/work/own"};

static void try_locks(int file)
{
    struct flock whole = {.l_type = F_RDLCK};
    must_fail(fcntl(file, F_GETLK, &whole), ENOLCK);
    must_fail(fcntl(file, F_SETLK, &whole), ENOLCK);
    must_fail(fcntl(file, F_SETLKW, &whole), ENOLCK);
    must_fail(fcntl(file, F_OFD_GETLK, &whole), ENOLCK);
    must_fail(fcntl(file, F_OFD_SETLK, &whole), ENOLCK);
    must_fail(fcntl(file, F_OFD_SETLKW, &whole), ENOLCK);
    /* The kernel reads only the lower half of the command; the filter must do the same. */
    must_fail(syscall(SYS_fcntl, file, F_SETLK | 1UL << 32, &whole), ENOLCK);
    must_fail(flock(file, LOCK_SH), ENOLCK);
    must_fail(flock(file, LOCK_EX | LOCK_NB), ENOLCK);
}

int main(void)
{
    start();
    must_work(creat("/work/own", 0600));
    for (size_t i = 0; i < sizeof FILES / sizeof *FILES; i++) {
        int file = open(FILES[i], O_RDONLY);
        must_work(file);
        try_locks(file);
        must_fail(fcntl(file, F_SETLEASE, F_RDLCK), EINVAL);
        must_fail(fcntl(file, F_GETLEASE), EINVAL);
        must_fail(fcntl(file, F_NOTIFY, DN_ACCESS | DN_MULTISHOT), EINVAL);
        must_fail(fcntl(file, F_SETOWN, getpid()), EINVAL);
        must_fail(fcntl(file, F_SETSIG, SIGIO), EINVAL);
        must_work(fcntl(file, F_GETFL));
        must_work(fcntl(file, F_SETFD, FD_CLOEXEC));
        must_work(fcntl(file, F_DUPFD_CLOEXEC, 10));
    }
    int ends[2];
    must_work(pipe(ends));
    must_work(fcntl(ends[0], F_SETFL, O_NONBLOCK));
    must_work(fcntl(ends[0], F_GETPIPE_SZ));
    must_fail(fcntl(ends[0], F_SETPIPE_SZ, 1 << 20), EINVAL);
    return held();
}
