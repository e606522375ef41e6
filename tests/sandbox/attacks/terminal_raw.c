/* Rules: X7
 * Attack: turns off all keys, ignores all signals, suspends its output, and never ends.
 * Terminal: yes
 * Limits: wall_ms=1000
 * Expect: wall_limit
 * Without CGROUP: wall_limit
 * Without PID: wall_limit
 */
#include "attack.h"
#include <termios.h>

int main(void)
{
    start();
    for (int number = 1; number < NSIG; number++)
        signal(number, SIG_IGN);
    struct termios modes;
    must_work(tcgetattr(STDIN_FILENO, &modes));
    cfmakeraw(&modes);
    modes.c_lflag |= EXTPROC;
    must_work(tcsetattr(STDIN_FILENO, TCSAFLUSH, &modes));
    must_work(tcflow(STDOUT_FILENO, TCOOFF));
    in_child(sleep_forever);
    for (;;)
        (void)!write(STDOUT_FILENO, "never seen", 10);
}
