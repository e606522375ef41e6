/* Rules: X4
 * Attack: makes system calls with unassigned or impossible numbers.
 * Each: 600 4000 65535 1073741823 -1
 * Expect: forbidden_syscall | ok
 */
#include "attack.h"

int main(int count, char **arguments)
{
    start();
    long number = count > 1 ? atol(arguments[1]) : -1;
    must_fail(syscall(number, 0, 0, 0, 0, 0, 0), ENOSYS, EINVAL);
    return held();
}
