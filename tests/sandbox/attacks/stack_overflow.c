/* Rules: X7 J7
 * Attack: recurses without end on a limited stack.
 * Expect: signalled SIGSEGV
 * Without CGROUP: signalled SIGSEGV
 * Limits: stack_bytes=1MiB
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
