/* Rules: X7 X5
 * Attack: leaves dead children unreaped.
 * Expect: process_limit
 * Without CGROUP: ok
 * Limits: processes=16
 */
#include "attack.h"

static void die(void) {}

int main(void)
{
    start();
    int children = 0;
    while (children < 64 && in_child(die) > 0)
        children++;
    must_be(errno == EAGAIN);
    must_be(children >= 8);
    must_be(children <= 18); /* the rlimit is a little higher */
    return held();
}
