/* Rules: X1 X4 X7
 * Attack: enters new namespaces, and uses its privileges there to break out.
 * Expect: signalled SIGSYS
 * Only SECCOMP: signalled SIGSYS
 * Without SECCOMP: ok
 * Without ALL: ok
 */
#include "attack.h"
#include <sys/mount.h>

#define NO EPERM, EACCES, ENOSPC, EUSERS, EINVAL, EBUSY, ENOENT, EROFS, ENODEV

static void break_out(void)
{
    must_fail(mount(NULL, "/", NULL, MS_REMOUNT | MS_BIND, NULL), NO);
    must_fail(mount(NULL, "/code", NULL, MS_REMOUNT | MS_BIND, NULL), NO);
    must_fail(mount(NULL, "/usr/bin", NULL, MS_REMOUNT | MS_BIND, NULL), NO);
    must_fail(umount2("/proc", MNT_DETACH), NO);
    must_fail(umount2("/code", MNT_DETACH), NO);
    must_fail(mount("proc", "/work", "proc", 0, NULL), NO);
    must_fail(mount("sysfs", "/work", "sysfs", 0, NULL), NO);
    must_fail(mount("cgroup", "/work", "cgroup", 0, "memory"), NO);
    must_fail(mount("cgroup2", "/work", "cgroup2", 0, NULL), NO);
    must_fail(mknod("/work/memory", S_IFCHR | 0666, 0x101), NO);
    must_fail(open("/code/attack", O_WRONLY), EROFS, EACCES, ETXTBSY);
    must_work(mkdir("/work/inner", 0700));
    if (chroot("/work/inner") == 0) {
        for (int i = 0; i < 64; i++)
            must_work(chdir(".."));
        must_work(chroot("."));
        must_fail(open("/root/.bashrc", O_RDONLY), ENOENT, EACCES);
        must_fail(open("/etc/shadow", O_RDONLY), ENOENT, EACCES);
    }
}

int main(void)
{
    start();
    const int single[] = {CLONE_NEWNS,  CLONE_NEWPID, CLONE_NEWNET,
                          CLONE_NEWIPC, CLONE_NEWUTS, CLONE_NEWCGROUP};
    for (size_t i = 0; i < sizeof single / sizeof *single; i++)
        must_fail(unshare(single[i]), EPERM);
    /* As root of its own namespace it may make the calls, but must not reach the files. */
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS) == 0)
        break_out();
    else
        must_be(errno == EPERM || errno == ENOSPC || errno == EUSERS);
    return held();
}
