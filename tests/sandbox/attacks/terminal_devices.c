/* Rules: X1 X7
 * Attack: looks for other terminals, the console, and a way to make more of them.
 * Terminal: yes
 * Expect: ok
 * Without SECCOMP: ok
 * Without ALL: ok
 */
#include "attack.h"

int main(void)
{
    start();
    static const char *const names[] = {"ptmx",    "pts/ptmx", "tty",   "tty0", "tty1",
                                        "console", "vcs",      "ttyS0", "pts"};
    char path[PATH_MAX];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "/dev/%s", names[i]);
        must_fail(open(path, O_RDWR | O_NOCTTY), ENOENT);
    }
    for (int number = 0; number < 64; number++) {
        snprintf(path, sizeof path, "/dev/pts/%d", number);
        must_fail(open(path, O_RDWR | O_NOCTTY), ENOENT);
    }
    /* The link leads to this terminal only, not to its directory. */
    must_fail(open("/proc/self/fd/0/..", O_RDONLY), ENOTDIR);
    must_fail(openat(STDIN_FILENO, "..", O_RDONLY), ENOTDIR);
    must_fail(openat(STDIN_FILENO, "../ptmx", O_RDWR), ENOTDIR);
    must_fail(open("/proc/1/fd/0", O_RDWR), EACCES, ENOENT, EPERM);
    struct stat own, again;
    int file = open("/dev/stdin", O_RDWR | O_NOCTTY);
    must_work(file);
    must_be(fstat(STDIN_FILENO, &own) == 0 && fstat(file, &again) == 0 &&
            own.st_rdev == again.st_rdev);
    return held();
}
