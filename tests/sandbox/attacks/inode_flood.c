/* Rules: X7 J8
 * Attack: fills the scratch with entries of size 0.
 * Each: file directory symlink link fifo huge-name strange-name
 * Expect: ok | forbidden_syscall mknodat
 * Without SECCOMP: ok
 * Without CGROUP: ok | forbidden_syscall mknodat
 * Limits: scratch_inodes=256
 */
#include "attack.h"

static long make(const char *kind, int number)
{
    char name[2 * NAME_MAX];
    int width = strcmp(kind, "huge-name") == 0 ? NAME_MAX : 1;
    const char *prefix = strcmp(kind, "strange-name") == 0 ? "-rf ..\n\xff\x1b[2J*$(id)" : "";
    snprintf(name, sizeof name, "%s%0*d", prefix, width, number);
    if (strcmp(kind, "directory") == 0)
        return mkdir(name, 0);
    if (strcmp(kind, "symlink") == 0)
        return symlink("/etc/passwd", name);
    if (strcmp(kind, "link") == 0 && number > 0)
        return link("0", name);
    if (strcmp(kind, "fifo") == 0)
        return mknod(name, S_IFIFO, 0);
    int file = open(name, O_CREAT | O_EXCL | O_WRONLY, 0);
    return file < 0 ? -1 : close(file);
}

int main(int count, char **arguments)
{
    start();
    int made = 0;
    while (made < 1024 && make(count > 1 ? arguments[1] : "file", made) == 0)
        made++;
    must_be(errno == ENOSPC);
    must_be(made <= 256);
    must_be(made >= 128);
    return held();
}
