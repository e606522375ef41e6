/* Rules: X7 J2
 * Attack: exits normally while a child keeps stdout and stderr open forever.
 * Expect: ok
 * Without PID: ok
 * Without CGROUP: ok
 */
#include "attack.h"

int main(void)
{
    start();
    must_work(in_child(sleep_forever));
    return held();
}
