/* Rules: X7 X2
 * Attack: looks in /proc for other processes and for files of the system.
 * Expect: ok
 * Without SECCOMP: ok
 * Without PID: ok
 * Without ALL: ok
 */
#include "attack.h"
#include <ctype.h>
#include <dirent.h>

static bool is_number(const char *name)
{
    for (; *name; name++)
        if (!isdigit(*name))
            return false;
    return true;
}

int main(void)
{
    start();
    DIR *proc = opendir("/proc");
    must_be(proc != NULL);
    for (struct dirent *entry; proc && (entry = readdir(proc));) {
        const char *name = entry->d_name;
        bool is_own = is_number(name) && atoi(name) == getpid();
        if (!is_own && strcmp(name, "self") != 0 && strcmp(name, "thread-self") != 0 &&
            name[0] != '.')
            got_through("/proc/%s", name);
    }
    const char *secrets[] = {"environ", "cmdline",   "maps",   "mem",    "exe",  "cwd",
                             "root",    "fd",        "fdinfo", "stack",  "auxv", "status",
                             "stat",    "mountinfo", "ns/mnt", "ns/net", "task", "cgroup"};
    char path[PATH_MAX], target[PATH_MAX];
    for (int pid = 1; pid < 100; pid++)
        for (size_t i = 0; pid != getpid() && i < sizeof secrets / sizeof *secrets; i++) {
            snprintf(path, sizeof path, "/proc/%d/%s", pid, secrets[i]);
            must_fail(open(path, O_RDONLY), ENOENT, EACCES, EPERM);
            must_fail(readlink(path, target, sizeof target), ENOENT, EACCES, EPERM);
        }
    return held();
}
