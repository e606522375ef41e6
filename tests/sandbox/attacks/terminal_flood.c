/* Rules: X7
 * Attack: floods its terminal from many processes, one of them a daemon.
 * Terminal: yes
 * Expect: output_limit
 * Without CGROUP: output_limit
 */
#include "attack.h"

static void flood(void)
{
    static char block[1 << 16];
    signal(SIGHUP, SIG_IGN);
    memset(block, 'x', sizeof block);
    setsid();
    for (;;)
        (void)!write(STDOUT_FILENO, block, sizeof block);
}

int main(void)
{
    start();
    for (int i = 0; i < 8; i++)
        in_child(flood);
    flood();
}
