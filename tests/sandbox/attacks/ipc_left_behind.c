/* Rules: X2 X7
 * Attack: leaves a message for the next run in the kernel's shared objects.
 * Each: shmget semget msgget mq_open
 * Twice: yes
 * Expect: forbidden_syscall $1
 * Without SECCOMP: ok
 * Without SECCOMP PID: ok
 */
#include "attack.h"
#include <mqueue.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>

static const key_t KEY = 0x5eed;

/* Makes the object in the first run, and only looks for it in the second. */
static long open_object(const char *call, int make)
{
    int flags = make ? IPC_CREAT | 0666 : 0666;
    if (strcmp(call, "shmget") == 0)
        return shmget(KEY, 4096, flags);
    if (strcmp(call, "semget") == 0)
        return semget(KEY, 1, flags);
    if (strcmp(call, "msgget") == 0)
        return msgget(KEY, flags);
    if (strcmp(call, "mq_open") == 0)
        return (long)mq_open("/planted", make ? O_CREAT | O_RDWR : O_RDWR, 0666, NULL);
    return 0;
}

int main(int count, char **arguments)
{
    start();
    const char *call = count > 1 ? arguments[1] : "";
    if (count > 2)
        must_fail(open_object(call, false), ENOENT);
    else
        must_work(open_object(call, true));
    return held();
}
