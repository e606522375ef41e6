/* Rules: J8 J7
 * Attack: writes a file beyond its limit and does not handle the signal.
 * Expect: signalled SIGXFSZ
 * Limits: file_bytes=1MiB scratch_bytes=8MiB
 */
#include "attack.h"

int main(void)
{
    start();
    static char block[1 << 16];
    int file = open("/work/big", O_CREAT | O_RDWR, 0600);
    for (int i = 0; i < 64; i++)
        must_work(write(file, block, sizeof block));
    got_through("4 MiB in a file");
    return held();
}
