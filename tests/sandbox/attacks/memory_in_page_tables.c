/* Rules: X5
 * Attack: uses memory only for the kernel's page tables of 128 GiB of zeros.
 * Expect: memory_limit
 * Limits: memory_bytes=32MiB
 */
#include "attack.h"

int main(void)
{
    start();
    size_t size = (size_t)128 << 30;
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    volatile char *zeros = mmap(NULL, size, PROT_READ, flags, -1, 0);
    must_be(zeros != MAP_FAILED);
    madvise((void *)zeros, size, MADV_NOHUGEPAGE);
    for (size_t at = 0; at < size; at += 2 << 20)
        (void)zeros[at];
    got_through("256 MiB of page tables");
    return held();
}
