/* Rules: X1 X4
 * Attack: makes x32 system calls, which a filter may have forgotten.
 * Machine: x86_64
 * Expect: signalled SIGSYS
 * Only SECCOMP: signalled SIGSYS
 */
#include "attack.h"

int main(void)
{
    start();
    const long x32_bit = 0x40000000;
    long result = syscall(x32_bit | SYS_getpid);
    got_through("an x32 call = %ld", result);
    return held();
}
