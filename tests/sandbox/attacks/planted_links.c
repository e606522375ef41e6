/* Rules: X7 J8 X2
 * Attack: leaves links and unreadable directories for the host or the next run.
 * Expect: ok
 * Without SECCOMP: ok
 * Without CGROUP: ok
 */
#include "attack.h"

int main(void)
{
    start();
    const char *names[] = {"attack", "run", "a.out", "main", "stdin", "stdout", "..."};
    const char *targets[] = {"/etc/passwd", "/code",          "/work",
                             "..",          "/proc/self/exe", "/dev/zero"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        must_work(symlink(targets[i % 6], names[i]));
    must_fail(link("/code/attack", "hard"), EXDEV, EPERM);
    must_fail(link("/etc/passwd", "hard"), EXDEV, EPERM);
    must_fail(link("/proc/self/exe", "hard"), EXDEV, EPERM);
    must_fail(rename("/work", "/scratch"), EROFS, EBUSY, EACCES, EPERM, EXDEV);
    must_fail(rmdir("/work"), EROFS, EBUSY, EACCES, EPERM);
    must_fail(rename("/tmp", "/temporary"), EROFS, EACCES, EPERM);
    must_fail(unlink("/tmp"), EROFS, EACCES, EPERM);
    must_work(mkdir("locked", 0700));
    must_work(symlink("/", "locked/root"));
    must_work(open("locked/file", O_CREAT | O_WRONLY, 0));
    must_work(chmod("locked", 0));
    chmod("/work", 0);
    return held();
}
