/* Rules: X7 J8
 * Attack: makes a single file larger than its limit, in every possible way.
 * Expect: ok
 * Without CGROUP: ok
 * Limits: file_bytes=1MiB scratch_bytes=8MiB
 */
#include "attack.h"

int main(void)
{
    start();
    signal(SIGXFSZ, SIG_IGN);
    static char block[1 << 20];
    int file = open("/work/big", O_CREAT | O_RDWR, 0600);
    must_be(write(file, block, sizeof block) == sizeof block);
    must_fail(write(file, block, 1), EFBIG);
    must_fail(pwrite(file, block, 1, 2 << 20), EFBIG);
    must_fail(ftruncate(file, 2 << 20), EFBIG);
    must_fail(truncate("/work/big", 2 << 20), EFBIG);
    must_fail(fallocate(file, 0, 0, 2 << 20), EFBIG);
    return held();
}
