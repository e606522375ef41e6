/* Rules: X4
 * Attack: makes a forbidden call in a thread, a child, a signal handler, or under many signals.
 * Each: thread child orphan handler storm many
 * Expect: forbidden_syscall chroot
 * Without PID: forbidden_syscall chroot
 * Without CGROUP: forbidden_syscall chroot
 */
#include "attack.h"
#include <pthread.h>
#include <sys/time.h>

static void refused(void)
{
    for (;;)
        syscall(SYS_chroot, "/");
}

static void *refused_in_thread(void *unused)
{
    (void)unused;
    refused();
    return NULL;
}

static void refused_in_handler(int number)
{
    (void)number;
    refused();
}

static void refused_in_orphan(void)
{
    setsid();
    in_child(refused);
}

static void nothing(int number)
{
    (void)number;
}

int main(int count, char **arguments)
{
    start();
    const char *place = count > 1 ? arguments[1] : "";
    pthread_t thread;
    if (strcmp(place, "child") == 0) {
        in_child(refused);
    } else if (strcmp(place, "orphan") == 0) {
        in_child(refused_in_orphan);
    } else if (strcmp(place, "handler") == 0) {
        signal(SIGUSR1, refused_in_handler);
        raise(SIGUSR1);
    } else if (strcmp(place, "storm") == 0) {
        struct itimerval often = {{0, 50}, {0, 50}};
        signal(SIGALRM, nothing);
        setitimer(ITIMER_REAL, &often, NULL);
        refused();
    } else {
        for (int i = 0; i < (strcmp(place, "many") == 0 ? 8 : 1); i++)
            pthread_create(&thread, NULL, refused_in_thread, NULL);
    }
    sleep_forever();
}
