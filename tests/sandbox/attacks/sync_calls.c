/* Rules: X2 X5
 * Attack: empties the buffers of the host's disk by files of the root, as often as it likes. Where
 *         the kernel is asked, these calls fail: a pipe has no disk, and nothing is mapped at 0.
 * Expect: ok
 */
#include "attack.h"

int main(void)
{
    start();
    int ends[2];
    must_work(pipe(ends));
    must_work(fsync(ends[1]));
    must_work(fdatasync(ends[1]));
    must_work(sync_file_range(ends[1], 0, 4096, SYNC_FILE_RANGE_WRITE));
    must_work(syscall(SYS_msync, 0, 4096, MS_SYNC));
    must_fail(syscall(SYS_msync, 0, 4096, MS_ASYNC), ENOMEM);
    return held();
}
