/* Rules: X2 X7
 * Attack: leaves daemons that keep the terminal open after the program has ended.
 * Terminal: yes
 * Expect: ok
 * Without PID: ok
 * Without CGROUP: ok
 */
#include "attack.h"

static void become_daemon(void)
{
    signal(SIGHUP, SIG_IGN);
    setsid();
    if (fork() == 0) {
        int again = open("/dev/stdin", O_RDWR | O_NOCTTY);
        must_work(again);
        sleep_forever();
    }
}

int main(void)
{
    start();
    for (int i = 0; i < 4; i++)
        waitpid(in_child(become_daemon), NULL, 0);
    return held();
}
