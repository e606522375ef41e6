/* Rules: X7 X5
 * Attack: recurses without end on a stack that only memory limits.
 * Expect: memory_limit | signalled SIGSEGV
 * Limits: memory_bytes=32MiB stack_bytes=0
 */
#include "attack.h"

__attribute__((noinline)) static int recurse(volatile char *caller)
{
    volatile char frame[4096] = {*caller};
    return (frame[0] ? 0 : recurse(frame)) + frame[1];
}

int main(void)
{
    start();
    return recurse(&(volatile char){0});
}
