/* Rules: X9
 * Attack: asks which pages of a shared file are in memory, or removes them from it; asks whether
 *   another process has a page with the same content.
 * Expect: ok
 */
#include "attack.h"
#include <sys/uio.h>

#define WHOLE (16 << 12)
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

int main(void)
{
    start();
    int file = open("/proc/self/exe", O_RDONLY);
    must_work(file);
    char *memory = mmap(NULL, WHOLE, PROT_READ, MAP_SHARED, file, 0);
    must_be(memory != MAP_FAILED);
    unsigned char pages[16];
    must_fail(mincore(memory, WHOLE, pages), ENOSYS);
    char byte;
    struct iovec part = {&byte, 1};
    must_be(preadv2(file, &part, 1, 0, 0) == 1);
    must_fail(preadv2(file, &part, 1, 0, RWF_NOWAIT), EOPNOTSUPP);
    must_fail(syscall(SYS_preadv2, file, &part, 1, 0, 0, 0x80), EOPNOTSUPP); /* RWF_DONTCACHE */
    must_fail(pwritev2(STDOUT_FILENO, &part, 1, 0, RWF_NOWAIT), EOPNOTSUPP);
    must_be(posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED) == 0);
    must_be(posix_fadvise(-1, 0, 0, POSIX_FADV_DONTNEED) == 0); /* nothing looks at it */
    must_be(readahead(-1, 0, 1 << 20) == 0);
    must_be(madvise((void *)1, WHOLE, MADV_PAGEOUT) == 0);
    must_be(syscall(SYS_madvise, 1, WHOLE, MADV_COLD | 1UL << 32) == 0);
    must_fail(madvise(memory, WHOLE, MADV_COLLAPSE), EINVAL);
    must_fail(madvise(memory, WHOLE, MADV_MERGEABLE), EINVAL);
    must_work(madvise(memory, WHOLE, MADV_RANDOM));
    must_work(madvise(memory, WHOLE, MADV_DONTNEED));
    return held();
}
