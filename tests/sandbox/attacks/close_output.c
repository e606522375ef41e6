/* Rules: X7 J2 J7
 * Attack: closes all descriptors and goes on computing.
 * Expect: ok
 * Without CGROUP: ok
 * At least: cpu_ms=100
 */
#include "attack.h"

int main(void)
{
    start();
    int status = held();
    for (int descriptor = 0; descriptor < 3; descriptor++)
        close(descriptor);
    burn_ms(100);
    return status;
}
