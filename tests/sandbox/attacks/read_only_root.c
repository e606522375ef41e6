/* Rules: X2 X7
 * Attack: writes, renames, links and removes files of the root, the code and the devices.
 * Expect: ok
 * Without SECCOMP: ok
 * Without ALL: ok
 */
#include "attack.h"
#include <sys/time.h>

/* ENOENT and ENOTDIR: does not exist. ETXTBSY: the running program. EBUSY: a mount point. */
#define NO EROFS, EACCES, EPERM, ENOENT, ENOTDIR, ETXTBSY, EBUSY, EXDEV, EISDIR

static void change(const char *path)
{
    must_fail(chmod(path, 0777), NO);
    must_fail(chown(path, getuid(), getgid()), NO);
    must_fail(truncate(path, 0), NO, EINVAL);
    must_fail(rename(path, "/work/taken"), NO);
    must_fail(unlink(path), NO);
    must_fail(rmdir(path), NO);
    must_fail(utimes(path, NULL), NO);
}

static void fill(const char *directory)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/planted", directory);
    must_fail(open(path, O_CREAT | O_WRONLY, 0777), NO);
    must_fail(mkdir(path, 0777), NO);
    must_fail(symlink("/work", path), NO);
    must_fail(rename("/work/mine", path), NO);
    must_fail(link("/work/mine", path), NO);
    must_fail(open(directory, O_TMPFILE | O_RDWR, 0777), NO, ENOTSUP);
}

static void attempt(void (*what)(const char *), const char *path)
{
    bool before = any_got_through;
    any_got_through = false;
    what(path);
    if (any_got_through)
        got_through("the above at %s", path);
    any_got_through |= before;
}

int main(void)
{
    start();
    must_work(open("/work/mine", O_CREAT | O_WRONLY, 0600));
    const char *directories[] = {
        "/data", "",      "/code",      "/usr",         "/usr/bin", "/usr/lib",  "/etc",
        "/dev",  "/proc", "/proc/self", "/proc/1",      "/lib",     "/bin",      "/sbin",
        "/root", "/home", "/var",       "/run",         "/opt",     "/mnt",      "/srv",
        "/sys",  "/boot", "/usr/local", "/usr/include", "/etc/ssl", "/usr/share"};
    const char *files[] = {"/code/attack",     "/etc/passwd",  "/etc/hosts",
                           "/etc/ld.so.cache", "/usr/bin/gcc", "/bin/sh",
                           "/dev/null",        "/dev/zero",    "/dev/urandom",
                           "/proc/1/mem",      "/usr/bin/env", "/proc/sysrq-trigger"};
    for (size_t i = 0; i < sizeof directories / sizeof *directories; i++) {
        attempt(fill, directories[i]);
        attempt(change, *directories[i] ? directories[i] : "/");
    }
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        attempt(change, files[i]);
    must_fail(open("/code/attack", O_WRONLY), NO);
    must_fail(open("/proc/self/exe", O_WRONLY), NO);
    must_fail(open("/etc/passwd", O_WRONLY | O_APPEND), NO);
    return held();
}
