/* Rules: X1 X7
 * Attack: tries what the kernel itself must refuse on a terminal, without the filter.
 * Terminal: yes
 * Expect: ok
 * Without SECCOMP: ok
 * Without ALL: ok
 */
#include "attack.h"
#include <sys/ioctl.h>

int main(void)
{
    start();
    char number = 3;
    int zero = 0;
    must_fail(ioctl(STDIN_FILENO, TIOCCONS, 0), EPERM);
    must_fail(ioctl(STDIN_FILENO, TIOCLINUX, &number), EPERM, ENOTTY);
    /* These need the master, which never enters a box. */
    must_fail(ioctl(STDIN_FILENO, TIOCGPTN, &zero), EPERM, ENOTTY);
    must_fail(ioctl(STDIN_FILENO, TIOCGPTPEER, O_RDWR), EPERM, ENOTTY, EIO);
    must_fail(ioctl(STDIN_FILENO, TIOCSIG, SIGKILL), EPERM, ENOTTY);
    /* Not even a new session can take the terminal from the first one. */
    pid_t child = fork();
    if (child == 0) {
        must_work(setsid());
        must_fail(ioctl(STDIN_FILENO, TIOCSCTTY, 0), EPERM);
        must_fail(ioctl(STDIN_FILENO, TIOCSCTTY, 1), EPERM);
        _exit(any_got_through);
    }
    int status;
    must_work(waitpid(child, &status, 0));
    must_be(status == 0);
    return held();
}
