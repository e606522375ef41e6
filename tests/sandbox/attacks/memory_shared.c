/* Rules: X7 X5
 * Attack: allocates shared memory, which belongs to no single process.
 * Expect: memory_limit
 * Limits: memory_bytes=32MiB
 */
#include "attack.h"

int main(void)
{
    start();
    size_t size = (size_t)1 << 30;
    char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    must_be(memory != MAP_FAILED);
    memset(memory, 1, size);
    got_through("1 GiB of shared memory");
    return held();
}
