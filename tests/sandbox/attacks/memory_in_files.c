/* Rules: X7 X5 J7
 * Attack: stores its data in files of the scratch.
 * Expect: memory_limit
 * Limits: memory_bytes=32MiB scratch_bytes=256MiB file_bytes=256MiB
 */
#include "attack.h"

int main(void)
{
    start();
    static char block[1 << 16];
    int file = open("/work/memory", O_CREAT | O_RDWR, 0600);
    must_work(file);
    for (int i = 0; i < 2048; i++)
        must_be(write(file, block, sizeof block) == sizeof block);
    got_through("128 MiB in a file");
    return held();
}
