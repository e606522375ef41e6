/* Rules: X7 J2
 * Attack: makes each byte of its output a separate packet that the host must read.
 * Expect: output_limit
 * Limits: output_bytes=16KiB
 */
#include "attack.h"

int main(void)
{
    start();
    fcntl(STDOUT_FILENO, F_SETFL, O_DIRECT | O_ASYNC);
    fcntl(STDOUT_FILENO, F_SETPIPE_SZ, 1 << 20);
    for (;;)
        must_work(write(STDOUT_FILENO, "x", 1));
}
