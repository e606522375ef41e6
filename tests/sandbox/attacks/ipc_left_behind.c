/* Rules: X1 X2 X7
 * Attack: leaves data for the next run in a SysV IPC object.
 * Each: shmget semget msgget
 * Twice: yes
 * Expect: forbidden_syscall $1
 * Without SECCOMP: ok
 * Without SECCOMP PID: ok
 * Without SECCOMP IPC: nonzero_exit 1
 */
#include "attack.h"
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>

static const key_t KEY = 0x5eed;

static int open_object(const char *call, int flags)
{
    if (strcmp(call, "shmget") == 0)
        return shmget(KEY, 4096, flags | 0600);
    if (strcmp(call, "semget") == 0)
        return semget(KEY, 1, flags | 0600);
    return msgget(KEY, flags | 0600);
}

static void remove_object(const char *call, int object)
{
    if (strcmp(call, "shmget") == 0)
        shmctl(object, IPC_RMID, NULL);
    else if (strcmp(call, "semget") == 0)
        semctl(object, 0, IPC_RMID);
    else
        msgctl(object, IPC_RMID, NULL);
}

/* Creates the object in the first run, and looks for it in the second. */
int main(int count, char **arguments)
{
    start();
    const char *call = count > 1 ? arguments[1] : "";
    if (count == 2) {
        must_work(open_object(call, IPC_CREAT));
        return held();
    }
    int found = open_object(call, 0);
    must_fail(found, ENOENT);
    if (found >= 0)
        remove_object(call, found);
    return held();
}
