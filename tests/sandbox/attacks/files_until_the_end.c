/* Rules: X7 J8
 * Attack: exits while its children create, rename and link files as fast as they can.
 * Expect: ok
 * Without PID: ok
 * Without CGROUP: ok
 */
#include "attack.h"

static void make_files(void)
{
    char name[64], other[64];
    for (unsigned i = 0;; i++) {
        snprintf(name, sizeof name, "/work/%d.%u", getpid(), i % 50);
        snprintf(other, sizeof other, "/work/%d.%u", getpid(), (i + 7) % 50);
        close(open(name, O_CREAT | O_WRONLY, 0));
        rename(name, other);
        unlink(name);
        symlink("/etc/passwd", name);
    }
}

int main(void)
{
    start();
    for (int i = 0; i < 4; i++)
        must_work(in_child(make_files));
    burn_ms(20);
    return held();
}
