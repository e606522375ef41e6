/* Rules: X7 J8
 * Attack: nests directories deeper than a path can name or a recursive delete can follow.
 * Expect: ok
 * Without SECCOMP: ok
 * Limits: scratch_inodes=20000 memory_bytes=256MiB
 */
#include "attack.h"

int main(void)
{
    start();
    char name[NAME_MAX + 1] = {0};
    memset(name, 'd', NAME_MAX);
    int depth = 0;
    while (depth < 30000 && mkdir(name, 0700) == 0 && chdir(name) == 0)
        depth++;
    must_be(errno == ENOSPC);
    must_be(depth >= 10000);
    must_be(depth <= 20000);
    return held();
}
