/* Rules: X7 J2 J7
 * Attack: closes all descriptors, so that its output seems complete, and never ends.
 * Expect: wall_limit
 * Without PID: wall_limit
 * Limits: wall_ms=1000
 */
#include "attack.h"

int main(void)
{
    start();
    for (int descriptor = 0; descriptor < 3; descriptor++)
        close(descriptor);
    sleep_forever();
}
