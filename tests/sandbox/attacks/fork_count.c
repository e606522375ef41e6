/* Rules: X7 X1 X5
 * Attack: starts idle children, one more than it may have.
 * Expect: process_limit
 * Without CGROUP: ok
 * Limits: processes=16
 */
#include "attack.h"

int main(void)
{
    start();
    int children = 0;
    while (children < 64 && in_child(sleep_forever) > 0)
        children++;
    must_be(errno == EAGAIN);
    must_be(children >= 8);
    must_be(children <= 18); /* the rlimit is a little higher */
    return held();
}
