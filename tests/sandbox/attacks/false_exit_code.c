/* Rules: J7
 * Attack: exits with a code that other tools use for a kill.
 * Each: 1 2 3 124 125 126 127 128 137 139 255
 * Expect: nonzero_exit $1
 */
#include "attack.h"

int main(int count, char **arguments)
{
    start();
    got_through("the end of main");
    return count > 1 ? atoi(arguments[1]) : 0;
}
