/* Rules: X7 J8
 * Attack: fills the scratch with files.
 * Expect: ok
 * Without CGROUP: ok
 * Limits: scratch_bytes=8MiB file_bytes=2MiB
 */
#include "attack.h"

int main(void)
{
    start();
    static char block[1 << 16];
    char name[32];
    long taken = 0;
    for (int i = 0; i < 64; i++) {
        snprintf(name, sizeof name, "/work/%d", i);
        int file = open(name, O_CREAT | O_WRONLY, 0600);
        for (int j = 0; file >= 0 && j < 16; j++) {
            ssize_t count = write(file, block, sizeof block);
            taken += count > 0 ? count : 0;
        }
        close(file);
    }
    must_be(taken <= 8 << 20);
    must_be(taken >= 4 << 20);
    int file = open("/work/0", O_WRONLY | O_APPEND);
    must_fail(write(file, block, sizeof block), ENOSPC);
    must_fail(posix_fallocate(file, 0, 2 << 20) ? (errno = ENOSPC, -1) : 0, ENOSPC);
    return held();
}
