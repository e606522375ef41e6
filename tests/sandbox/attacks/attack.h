/* Output of every attack: "started", then each attempt that succeeded, or "held" if none did. */
#ifndef ATTACK_H
#define ATTACK_H

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static bool any_got_through;

/* Refuses to run outside a box. Output is unbuffered, so that a fork does not repeat it and a kill
 * does not lose it. */
static inline void start(void)
{
    const char *home = getenv("HOME");
    if (!home || strcmp(home, "/work") != 0) {
        fputs("This program attacks the system that it runs on; it runs only in a box.\n",
              stderr);
        exit(2);
    }
    setvbuf(stdout, NULL, _IONBF, 0);
    puts("started");
}

__attribute__((format(printf, 1, 2))) static inline void got_through(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    any_got_through = true;
    fputs("got through: ", stdout);
    vprintf(format, arguments);
    putchar('\n');
    va_end(arguments);
}

/* The result of main(). */
static inline int held(void)
{
    if (!any_got_through)
        puts("held");
    return any_got_through;
}

static inline void check_failed(const char *try, long result, int error, const int *wanted)
{
    if (result != -1) {
        got_through("%s = %ld", try, result);
        return;
    }
    for (; *wanted; wanted++)
        if (error == *wanted)
            return;
    got_through("%s failed the wrong way: %s", try, strerror(error));
}

/* The call must fail with one of these errors. */
#define must_fail(call, ...)                                                                   \
    do {                                                                                       \
        long result_ = (long)(call);                                                           \
        check_failed(#call, result_, errno, (const int[]){__VA_ARGS__, 0});                    \
    } while (0)

/* A harmless call without which the attack would prove nothing. */
#define must_work(call)                                                                        \
    do {                                                                                       \
        if ((long)(call) == -1)                                                                \
            got_through("%s, which should work: %s", #call, strerror(errno));                  \
    } while (0)

#define must_be(condition)                                                                     \
    do {                                                                                       \
        if (!(condition))                                                                      \
            got_through("not %s", #condition);                                                 \
    } while (0)

static inline long cpu_ms(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Uses this much CPU time of the calling thread. */
static inline void burn_ms(long duration)
{
    long end = cpu_ms(CLOCK_THREAD_CPUTIME_ID) + duration;
    while (cpu_ms(CLOCK_THREAD_CPUTIME_ID) < end)
        for (volatile int i = 0; i < 10000; i++)
            ;
}

_Noreturn static inline void burn(void)
{
    for (volatile unsigned long i = 0;; i++)
        ;
}

/* Allocates memory and writes to it in a way that the compiler can't remove. */
static inline void take_memory(size_t size)
{
    char *memory = malloc(size);
    for (size_t at = 0; memory && at < size; at += 1024)
        ((volatile char *)memory)[at] = 1;
}

_Noreturn static inline void sleep_forever(void)
{
    for (;;)
        pause();
}

/* Runs `work` in a child; the parent goes on. */
static inline pid_t in_child(void (*work)(void))
{
    pid_t child = fork();
    if (child == 0) {
        work();
        _exit(0);
    }
    return child;
}

/* Reads at most size - 1 bytes of a file as a string, which is empty if the file can't be read. */
static inline ssize_t read_file(const char *path, char *text, size_t size)
{
    text[0] = 0;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return -1;
    size_t length = 0;
    ssize_t count;
    while (length < size - 1 && (count = read(file, text + length, size - 1 - length)) > 0)
        length += (size_t)count;
    text[length] = 0;
    close(file);
    return (ssize_t)length;
}

/* Whether the box was made without root: then its init has the program's uid. */
__attribute__((unused)) static int has_one_id(void)
{
    char map[256] = "";
    read_file("/proc/self/uid_map", map, sizeof map);
    return strchr(map, '\n') == strrchr(map, '\n');
}

#endif
