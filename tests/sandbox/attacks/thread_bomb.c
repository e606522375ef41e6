/* Rules: X7 X1 X5
 * Attack: starts threads without end.
 * Expect: process_limit
 * Without CGROUP: ok
 * Limits: processes=16
 */
#include "attack.h"
#include <pthread.h>

static void *wait_forever(void *unused)
{
    (void)unused;
    sleep_forever();
}

int main(void)
{
    start();
    pthread_t thread;
    int threads = 0, error = 0;
    while (threads < 64 && (error = pthread_create(&thread, NULL, wait_forever, NULL)) == 0)
        threads++;
    must_be(error == EAGAIN);
    must_be(threads >= 8);
    must_be(threads <= 18); /* the rlimit is a little higher */
    int status = held();
    _exit(status);
}
