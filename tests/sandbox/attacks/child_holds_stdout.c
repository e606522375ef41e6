/* Rules: X7 J2
 * Attack: ends well while a child keeps stdout and stderr open for ever.
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
