/* Rules: X4 X7
 * Attack: uses dangerous options of calls that programs need.
 * Expect: ok
 */
#include "attack.h"
#include <linux/seccomp.h>
#include <sys/ioctl.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/uio.h>

int main(void)
{
    start();
    char key = 'x';
    must_fail(personality(ADDR_NO_RANDOMIZE), EPERM);
    must_fail(personality(READ_IMPLIES_EXEC), EPERM);
    must_fail(prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, 21, 0, 0), EPERM);
    must_fail(prctl(PR_SET_SECUREBITS, 1, 0, 0, 0), EPERM);
    must_fail(prctl(PR_SET_MM, 1, 0, 0, 0), EPERM);
    must_fail(prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0, 0, 0), EPERM);
    must_fail(prctl(PR_SET_SPECULATION_CTRL, PR_SPEC_INDIRECT_BRANCH, PR_SPEC_ENABLE, 0, 0),
              EPERM);
    must_fail(syscall(SYS_io_uring_setup, 8, &key), ENOSYS);
    /* The kernel would say EBADF. */
    must_fail(splice(-1, NULL, -1, NULL, 1, 0), EINVAL);
    must_fail(tee(-1, -1, 1, 0), EINVAL);
    must_fail(vmsplice(-1, &(struct iovec){&key, 1}, 1, 0), EINVAL);
    must_fail(ioctl(STDIN_FILENO, TIOCSTI, &key), EPERM);
    /* The kernel reads only the lower half of the request; the filter must do the same. */
    must_fail(syscall(SYS_ioctl, STDIN_FILENO, TIOCSTI | 1UL << 32, &key), EPERM);
    must_fail(ioctl(STDIN_FILENO, TIOCSCTTY, 0), EPERM, ENOTTY);
    must_fail(ioctl(STDIN_FILENO, TIOCLINUX, &key), EPERM, ENOTTY);
    return held();
}
