/* Adds up CPU time and memory of the processes of a run from /proc, where there is no cgroup to
 * ask. What happens between two samples is missed; rlimits hold each process meanwhile. */
#define _GNU_SOURCE
#include "sample.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kernel.h"

struct entry { /* as getdents64 writes it; opendir would allocate memory */
    uint64_t inode;
    int64_t offset;
    unsigned short bytes;
    unsigned char type;
    char name[];
};

static uint64_t nanoseconds(struct timeval time)
{
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_usec * 1000;
}

static bool read_file(const char *process, const char *name, char *text, size_t bytes)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%.16s/%s", process, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t got = read_fd_text(fd, text, bytes);
    close(fd);
    return got > 0;
}

/* Adds user and system time of a process and of its children that it has waited for. */
static void add_cpu(struct sample *sample, const char *process)
{
    char text[1024];
    unsigned long ticks[4];
    char *end = read_file(process, "stat", text, sizeof text) ? strrchr(text, ')') : NULL;
    if (!end || sscanf(end + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu %lu %lu",
                       &ticks[0], &ticks[1], &ticks[2], &ticks[3]) != 4)
        return;
    for (int i = 0; i < 4; i++)
        sample->cpu_ns += ticks[i] * (1000000000 / (uint64_t)sysconf(_SC_CLK_TCK));
}

static void add_memory(struct sample *sample, const char *process)
{
    char text[256];
    unsigned long resident, shared;
    if (read_file(process, "statm", text, sizeof text) &&
        sscanf(text, "%*u %lu %lu", &resident, &shared) == 2 && resident > shared)
        sample->memory_bytes += (resident - shared) * (uint64_t)sysconf(_SC_PAGESIZE);
}

struct sample sample_processes(void)
{
    struct sample sample = {0};
    struct rusage dead;
    if (getrusage(RUSAGE_CHILDREN, &dead) == 0)
        sample.cpu_ns = nanoseconds(dead.ru_utime) + nanoseconds(dead.ru_stime);
    int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (proc < 0)
        return sample;
    _Alignas(struct entry) char buffer[4096];
    for (long got; (got = syscall(SYS_getdents64, proc, buffer, sizeof buffer)) > 0;)
        for (long at = 0; at < got;) {
            const struct entry *entry = (const void *)(buffer + at);
            const int number = atoi(entry->name);
            /* 1 is init itself; without a pid namespace for the run, it is the spawner. */
            if (number > 1 && number != getpid()) {
                add_cpu(&sample, entry->name);
                add_memory(&sample, entry->name);
            }
            at += entry->bytes;
        }
    close(proc);
    return sample;
}

/* A process that ends during a sample may be missing in it, and is counted by its parent in the next.
 * So only a time that is still missing then is lost. */
uint64_t add_cpu_sample(struct cpu_samples *samples, uint64_t cpu_ns)
{
    if (cpu_ns < samples->before_fall_ns)
        samples->lost_ns += samples->before_fall_ns - samples->after_fall_ns;
    const bool fell = cpu_ns < samples->last_ns;
    samples->before_fall_ns = fell ? samples->last_ns : 0;
    samples->after_fall_ns = fell ? cpu_ns : 0;
    samples->last_ns = cpu_ns;
    return cpu_ns + samples->lost_ns;
}
