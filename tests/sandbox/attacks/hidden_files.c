/* Rules: X2 X7
 * Attack: opens files of the host and of the judge.
 * Expect: ok
 * Without SECCOMP: ok
 * Without ALL: ok
 */
#include "attack.h"
#include <dirent.h>

static const char *const ALLOWED_DEVICES[] = {"null",    "zero",   "full", "random",
                                              "urandom", "shm",    "fd",   "stdin",
                                              "stdout",  "stderr", NULL};

static bool is_allowed(const char *name)
{
    for (const char *const *allowed = ALLOWED_DEVICES; *allowed; allowed++)
        if (strcmp(name, *allowed) == 0)
            return true;
    return name[0] == '.';
}

int main(void)
{
    start();
    const char *hidden[] = {"/etc/shadow",
                            "/etc/gshadow",
                            "/etc/sudoers",
                            "/etc/ssh",
                            "/etc/machine-id",
                            "/root/.ssh",
                            "/root/.bashrc",
                            "/var/lib/dpkg",
                            "/var/log",
                            "/var/run/docker.sock",
                            "/boot",
                            "/sys/kernel",
                            "/sys/fs/cgroup",
                            "/sys/class/net",
                            "/proc/sys/kernel",
                            "/proc/kcore",
                            "/proc/kmsg",
                            "/proc/keys",
                            "/proc/kallsyms",
                            "/proc/cmdline",
                            "/proc/config.gz",
                            "/proc/sysvipc",
                            "/proc/net",
                            "/proc/mounts",
                            "/proc/cpuinfo",
                            "/proc/meminfo",
                            "/proc/uptime",
                            "/proc/loadavg",
                            "/proc/sysrq-trigger",
                            "/proc/timer_list",
                            "/proc/1/root/etc",
                            "/proc/1/cwd/etc",
                            "/proc/1/environ",
                            "/proc/1/exe",
                            "/proc/1/maps",
                            "/proc/1/mem",
                            "/proc/1/fd/0",
                            "/proc/1/ns/mnt",
                            "/dev/mem",
                            "/dev/kmsg",
                            "/dev/tty",
                            "/dev/ptmx",
                            "/dev/pts/0",
                            "/dev/console",
                            "/dev/fuse",
                            "/dev/kvm",
                            "/dev/vsock",
                            "/dev/net/tun",
                            "/dev/loop0",
                            "/dev/mqueue",
                            "/dev/vda",
                            "/dev/sda",
                            "/dev/userfaultfd"};
    for (size_t i = 0; i < sizeof hidden / sizeof *hidden; i++) {
        errno = 0;
        int file = open(hidden[i], O_RDONLY | O_NONBLOCK);
        if (file >= 0 || (errno != ENOENT && errno != EACCES && errno != ENOTDIR))
            got_through("open %s: %s", hidden[i], strerror(errno));
    }
    DIR *devices = opendir("/dev");
    must_be(devices != NULL);
    for (struct dirent *entry; devices && (entry = readdir(devices));)
        if (!is_allowed(entry->d_name))
            got_through("the device %s", entry->d_name);

    struct stat root, above;
    must_work(stat("/", &root));
    must_work(stat("/../../..", &above));
    must_be(root.st_ino == above.st_ino && root.st_dev == above.st_dev);
    must_work(stat("/proc/self/root/..", &above));
    must_be(root.st_ino == above.st_ino && root.st_dev == above.st_dev);
    return held();
}
