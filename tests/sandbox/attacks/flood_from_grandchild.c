/* Rules: X7 J2
 * Attack: writes output without end from a detached grandchild.
 * Expect: output_limit
 * Limits: output_bytes=256KiB
 */
#include "attack.h"

static void flood(void)
{
    for (;;)
        puts("more and more and more and more");
}

static void detach(void)
{
    setsid();
    in_child(flood);
}

int main(void)
{
    start();
    must_work(in_child(detach));
    sleep_forever();
}
