/* Rules: X2 X7
 * Attack: looks for the test data of the previous run in the same box.
 * After data: yes
 * Expect: ok
 * Without SECCOMP: ok
 * Without PID: ok
 * Without ALL: ok
 */
#include "attack.h"
#include <dirent.h>

static void look_in(const char *path)
{
    DIR *data = opendir(path);
    for (struct dirent *entry; data && (entry = readdir(data));)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            got_through("%s/%s", path, entry->d_name);
    if (data)
        closedir(data);
}

int main(void)
{
    start();
    struct stat status;
    must_work(stat("/data", &status));
    must_be(S_ISDIR(status.st_mode));
    const char *paths[] = {"/data", "/proc/self/root/data", "/proc/1/root/data",
                           "/proc/self/cwd/../data", "/work/../data"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        look_in(paths[i]);
    must_fail(open("/data/secret", O_RDONLY), ENOENT);
    must_work(chdir("/data"));
    must_fail(open("secret", O_RDONLY), ENOENT);
    must_fail(open("planted", O_CREAT | O_WRONLY, 0666), EROFS, EACCES);
    must_fail(symlink("/work", "planted"), EROFS, EACCES);
    static char mounts[1 << 20];
    must_be(read_file("/proc/self/mountinfo", mounts, sizeof mounts) > 0);
    must_be(strstr(mounts, " /work ") != NULL);
    must_be(strstr(mounts, " /data ") == NULL);
    char path[64], target[PATH_MAX];
    for (int descriptor = 0; descriptor < 64; descriptor++) {
        snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
        ssize_t length = readlink(path, target, sizeof target - 1);
        target[length > 0 ? length : 0] = 0;
        if (strstr(target, "/data/secret"))
            got_through("descriptor %d is %s", descriptor, target);
    }
    return held();
}
