/* Rules: X1 X4
 * Attack: checks whether seccomp is off.
 * Expect: ok
 * Without SECCOMP: nonzero_exit 1
 */
#include "attack.h"

int main(void)
{
    start();
    static char status[8192];
    must_be(read_file("/proc/self/status", status, sizeof status) > 0);
    must_be(strstr(status, "\nSeccomp:\t2\n") != NULL);
    return held();
}
