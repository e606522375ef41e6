/* Rules: X2 X5 X7
 * Attack: leaves a message for the next run in a POSIX queue, or fills memory with queues.
 * Expect: forbidden_syscall mq_open
 * Without SECCOMP: ok
 * Without ALL: ok
 */
#include "attack.h"
#include <mqueue.h>

int main(void)
{
    start();
    must_fail(mq_open("/planted", O_CREAT | O_RDWR, 0600, NULL), EMFILE);
    must_fail(mq_open("/planted", O_RDWR), ENOENT);
    return held();
}
