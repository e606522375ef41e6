/* Rules: J5 X2 X7
 * Attack: looks for descriptors, variables and names that it inherited from the host.
 * Terminal: no
 * Expect: ok
 * Without SECCOMP: ok
 * Without UTS: nonzero_exit 1
 */
#include "attack.h"
#include <dirent.h>
#include <sys/resource.h>

extern char **environ;

static const char *const ENVIRONMENT[] = {"PATH=/usr/local/bin:/usr/bin:/bin",
                                          "HOME=/work",
                                          "TMPDIR=/work",
                                          "LANG=C.UTF-8",
                                          "LC_ALL=C.UTF-8",
                                          "TZ=UTC",
                                          "PYTHONHASHSEED=0",
                                          NULL};

static bool is_given(const char *variable)
{
    for (const char *const *given = ENVIRONMENT; *given; given++)
        if (strcmp(variable, *given) == 0)
            return true;
    return false;
}

static void look_at_environment(void)
{
    int count = 0;
    for (char **variable = environ; *variable; variable++, count++)
        if (!is_given(*variable))
            got_through("the variable %s", *variable);
    must_be(count == 7);
    static char text[65536];
    size_t length = 0;
    for (const char *const *given = ENVIRONMENT; *given; given++)
        length += strlen(*given) + 1;
    must_be(read_file("/proc/self/environ", text, sizeof text) == (ssize_t)length);
}

static void look_at_descriptors(void)
{
    for (int descriptor = 3; descriptor < 4096; descriptor++)
        must_fail(fcntl(descriptor, F_GETFD), EBADF);
    char target[PATH_MAX], path[64];
    for (int descriptor = 0; descriptor < 3; descriptor++) {
        snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
        ssize_t length = readlink(path, target, sizeof target - 1);
        must_be(length > 0);
        target[length > 0 ? length : 0] = 0;
        if (target[0] == '/' && strcmp(target, "/dev/null") != 0 &&
            strncmp(target, "/memfd:", 7) != 0)
            got_through("descriptor %d is %s", descriptor, target);
    }
    DIR *open_ones = opendir("/proc/self/fd");
    must_be(open_ones != NULL);
    for (struct dirent *entry; open_ones && (entry = readdir(open_ones));)
        if (entry->d_name[0] != '.' && atoi(entry->d_name) > dirfd(open_ones))
            got_through("descriptor %s", entry->d_name);
}

static void look_at_names(void)
{
    char name[256] = {0}, text[4096];
    must_work(gethostname(name, sizeof name - 1));
    must_be(strcmp(name, "box") == 0);
    must_be(strcmp(getcwd(text, sizeof text), "/work") == 0);
    must_be(read_file("/proc/self/cgroup", text, sizeof text) >= 0);
    must_be(strstr(text, "deemster") == NULL);
    must_fail(open("/dev/tty", O_RDWR), ENOENT, ENXIO, EACCES);
    must_be(getpriority(PRIO_PROCESS, 0) == 0);
    struct rlimit core;
    must_work(getrlimit(RLIMIT_CORE, &core));
    must_be(core.rlim_max <= 1);
}

int main(void)
{
    start();
    look_at_environment();
    look_at_descriptors();
    look_at_names();
    return held();
}
