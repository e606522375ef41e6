/* Rules: X1 X4
 * Attack: makes system calls by int 0x80, where the numbers have other meanings.
 * Machine: x86_64
 * Expect: signalled SIGSYS | signalled SIGSEGV
 * Only SECCOMP: signalled SIGSYS | signalled SIGSEGV
 */
#include "attack.h"

int main(void)
{
    start();
    const long getpid_of_i386 = 20;
    long result = -1;
    __asm__ volatile("int $0x80" : "=a"(result) : "a"(getpid_of_i386) : "memory");
    got_through("int 0x80 = %ld", result);
    return held();
}
