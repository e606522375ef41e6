/* Rules: X7 J8 X2
 * Attack: looks for a directory to write to that has no quota.
 * Each: /tmp /dev/shm /var/tmp /run /dev /code /proc/self / /run/lock /dev/mqueue /home /root
 * Expect: ok
 * Without SECCOMP: ok
 * Limits: scratch_bytes=8MiB file_bytes=16MiB
 */
#include "attack.h"

int main(int count, char **arguments)
{
    start();
    static char block[1 << 20];
    char name[PATH_MAX];
    snprintf(name, sizeof name, "%s/flood", count > 1 ? arguments[1] : "/tmp");
    int file = open(name, O_CREAT | O_WRONLY, 0600);
    ssize_t written, taken = 0;
    while (file >= 0 && (written = write(file, block, sizeof block)) > 0)
        taken += written;
    struct stat here, scratch;
    must_work(stat("/work", &scratch));
    must_be(file < 0 || (fstat(file, &here) == 0 && here.st_dev == scratch.st_dev));
    must_be(taken <= 8 << 20);
    return held();
}
