/* Rules: X1 X4 X7
 * Attack: types into its terminal, takes the console, changes the line discipline, gives its
 * Attack: terminal away, or looks for the master.
 * Terminal: yes
 * Expect: ok
 */
#include "attack.h"
#include <linux/tty.h>
#include <sys/ioctl.h>

int main(void)
{
    start();
    char key = '\n';
    int zero = 0, one = 1;
    must_be(isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && isatty(STDERR_FILENO));
    must_fail(ioctl(STDIN_FILENO, TIOCSTI, &key), EPERM);
    /* The kernel reads only the lower half of the request; the filter must do the same. */
    must_fail(syscall(SYS_ioctl, STDIN_FILENO, TIOCSTI | 1UL << 32, &key), EPERM);
    must_fail(ioctl(STDIN_FILENO, TIOCCONS, 0), EPERM);
    for (char number = 0; number < 16; number++)
        must_fail(ioctl(STDIN_FILENO, TIOCLINUX, &number), EPERM);
    for (int discipline = 0; discipline < NR_LDISCS; discipline++)
        must_fail(ioctl(STDIN_FILENO, TIOCSETD, &discipline), EPERM);
    must_fail(ioctl(STDIN_FILENO, TIOCSCTTY, 1), EPERM);
    must_fail(ioctl(STDIN_FILENO, TIOCNOTTY, 0), EPERM);
    must_fail(ioctl(STDIN_FILENO, TIOCEXCL, 0), EPERM);
    must_fail(ioctl(STDIN_FILENO, TIOCGPTN, &zero), EPERM);
    must_fail(ioctl(STDIN_FILENO, TIOCGPTPEER, O_RDWR), EPERM);
    must_fail(ioctl(STDIN_FILENO, TIOCSPTLCK, &one), EPERM);
    must_fail(ioctl(STDIN_FILENO, TIOCPKT, &one), EPERM);
    must_fail(ioctl(STDIN_FILENO, TIOCSIG, SIGKILL), EPERM);
    must_fail(ioctl(STDIN_FILENO, TIOCVHANGUP, 0), EPERM);
    return held();
}
