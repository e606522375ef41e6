/* Rules: J7
 * Attack: uses CPU time in a grandchild and a thread that end before it does.
 * Expect: ok
 * Without CGROUP: ok
 * At least: cpu_ms=120
 */
#include "attack.h"
#include <pthread.h>

static void *burn_in_thread(void *unused)
{
    (void)unused;
    burn_ms(40);
    return NULL;
}

static void burn_in_child(void)
{
    burn_ms(40);
    _exit(0);
}

static void burn_in_grandchild(void)
{
    in_child(burn_in_child);
    wait(NULL);
}

int main(void)
{
    start();
    pthread_t thread;
    must_be(pthread_create(&thread, NULL, burn_in_thread, NULL) == 0);
    must_be(pthread_join(thread, NULL) == 0);
    must_work(in_child(burn_in_grandchild));
    must_work(wait(NULL));
    burn_ms(40);
    return held();
}
