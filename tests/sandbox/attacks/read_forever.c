/* Rules: X7 J7
 * Attack: reads from a stdin that is never closed.
 * Expect: wall_limit
 * Limits: wall_ms=1000
 * Stdin: never closed
 */
#include "attack.h"

int main(void)
{
    start();
    char byte;
    while (read(STDIN_FILENO, &byte, 1) > 0)
        ;
    got_through("stdin ended");
    return held();
}
