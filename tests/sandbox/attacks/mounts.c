/* Rules: X1 X2
 * Attack: looks for a mount that is writable, has devices, or allows setuid.
 * Expect: ok
 * Without ALL: ok
 */
#include "attack.h"
#include <sys/statvfs.h>

int main(void)
{
    start();
    FILE *mounts = fopen("/proc/self/mountinfo", "re");
    must_be(mounts != NULL);
    char line[4096], path[1024];
    int count = 0;
    while (mounts && fgets(line, sizeof line, mounts)) {
        must_be(sscanf(line, "%*s %*s %*s %*s %1023s", path) == 1);
        /* Of several mounts at one path only the last can be reached, and statvfs returns that one. */
        struct statvfs mount;
        must_work(statvfs(path, &mount));
        if (strcmp(path, "/work") != 0 && !(mount.f_flag & ST_RDONLY))
            got_through("%s can be written to", path);
        if (!(mount.f_flag & ST_NOSUID))
            got_through("%s allows setuid", path);
        if (strncmp(path, "/dev/", 5) != 0 && !(mount.f_flag & ST_NODEV))
            got_through("%s allows devices", path);
        count++;
    }
    must_be(count > 3);
    return held();
}
