/* Rules: J7
 * Attack: has its memory peak in children that end before it does.
 * Expect: ok
 * Limits: memory_bytes=64MiB
 * At least: memory_bytes=24MiB
 */
#include "attack.h"

static int ready[2], go[2];

static void take(void)
{
    char byte = 0;
    take_memory(8 << 20);
    must_work(write(ready[1], &byte, 1));
    must_work(read(go[0], &byte, 1));
}

int main(void)
{
    start();
    char bytes[3] = {0};
    must_work(pipe(ready));
    must_work(pipe(go));
    for (int i = 0; i < 3; i++)
        must_work(in_child(take));
    for (int i = 0; i < 3; i++)
        must_work(read(ready[0], bytes, 1));
    must_work(write(go[1], bytes, 3));
    while (wait(NULL) > 0)
        ;
    return held();
}
