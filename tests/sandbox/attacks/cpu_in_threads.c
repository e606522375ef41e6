/* Rules: X5 J7
 * Attack: spreads the work over threads that use little CPU time each.
 * Expect: time_limit
 * Without CGROUP: time_limit
 * Limits: cpu_ms=200
 * At least: cpu_ms=180
 */
#include "attack.h"
#include <pthread.h>

static void *burn_on(void *unused)
{
    (void)unused;
    burn();
}

int main(void)
{
    start();
    pthread_t thread;
    for (int i = 0; i < 8; i++)
        must_be(pthread_create(&thread, NULL, burn_on, NULL) == 0);
    sleep_forever();
}
