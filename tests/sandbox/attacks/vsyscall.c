/* Rules: X1
 * Attack: reads the time through the vsyscall page, without a system call instruction.
 * Machine: x86_64
 * Expect: ok | signalled SIGSEGV
 */
#include "attack.h"

int main(void)
{
    start();
    time_t (*fixed_time)(time_t *) = (time_t (*)(time_t *))0xffffffffff600400;
    time_t there = fixed_time(NULL), here = time(NULL);
    must_be(here - there <= 5 && there - here <= 5);
    return held();
}
