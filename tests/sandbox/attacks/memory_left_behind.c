/* Rules: J7 X5 X9
 * Attack: leaves page tables that the kernel frees later, so that the next run has more memory.
 * Twice: yes
 * Expect: memory_limit
 * Limits: memory_bytes=256MiB
 */
#include "attack.h"

#define STEP  ((size_t)2 << 20) /* what a page table of 4 KiB covers */
#define STEPS ((size_t)50000)

int main(int count, char **arguments)
{
    start();
    if (count > 1 && strcmp(arguments[1], "again") == 0) {
        take_memory((size_t)300 << 20);
        got_through("300 MiB of memory");
    } else {
        char *place = mmap(NULL, STEPS * STEP, PROT_READ,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        must_be(place != MAP_FAILED);
        for (size_t step = 0; step < STEPS; step++)
            (void)*(volatile char *)(place + step * STEP);
    }
    return held();
}
