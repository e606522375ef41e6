/* Tells the next run something by which pages of a shared file are in memory, or reads it.
 *
 *   evict FILE   removes the page of each 0 of stdin from memory
 *   load FILE    reads the page of each 1 of stdin, in several processes
 *   nowait FILE  prints what preadv2 tells: 1 or 0 for each page, or ? if the call is refused
 *   faults FILE  prints what the count of major faults tells, which is what their timing tells
 *   spend FILE   uses 48 MiB of memory for a while, frees it, then reads the file
 *
 * The pages of two bits are so far apart that reading one does not load the other. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE   4096
#define STRIDE (64 * PAGE)
#define BITS   64
#define PARTS  4

static volatile char *map_randomly(int file)
{
    char *memory = mmap(NULL, BITS * STRIDE, PROT_READ, MAP_SHARED, file, 0);
    madvise(memory, BITS * STRIDE, MADV_RANDOM); /* no readahead */
    return memory;
}

static void load(int file, const char *bits)
{
    volatile char *memory = map_randomly(file);
    for (int part = 0; part < PARTS; part++)
        if (fork() == 0) {
            for (int bit = part; bit < BITS; bit += PARTS)
                if (bits[bit] == '1')
                    (void)memory[bit * STRIDE];
            _exit(0);
        }
    while (wait(NULL) > 0)
        ;
}

static void evict(int file, const char *bits)
{
    for (int tries = 0; tries < 3; tries++) /* a page may be in use for a moment */
        for (int bit = 0; bit < BITS; bit++)
            if (bits[bit] == '0')
                posix_fadvise(file, (off_t)bit * STRIDE, PAGE, POSIX_FADV_DONTNEED);
}

static void ask_without_waiting(int file)
{
    char byte;
    struct iovec part = {&byte, 1};
    posix_fadvise(file, 0, 0, POSIX_FADV_RANDOM); /* asking must not load other pages */
    for (int bit = 0; bit < BITS; bit++) {
        ssize_t got = preadv2(file, &part, 1, (off_t)bit * STRIDE, RWF_NOWAIT);
        putchar(got == 1 ? '1' : errno == EAGAIN ? '0' : '?');
    }
}

static long major_faults(void)
{
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return used.ru_majflt;
}

static void count_faults(int file)
{
    volatile char *memory = map_randomly(file);
    for (int bit = 0; bit < BITS; bit++) {
        long before = major_faults();
        (void)memory[bit * STRIDE];
        putchar(major_faults() == before ? '1' : '0');
    }
}

static void spend(int file)
{
    static char buffer[1 << 16];
    const size_t bytes = 48 << 20;
    char *memory =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(memory, 1, bytes);
    usleep(200000);
    munmap(memory, bytes);
    while (read(file, buffer, sizeof buffer) > 0)
        ;
}

int main(int count, char **arguments)
{
    char bits[BITS + 1] = "";
    int file = count == 3 ? open(arguments[2], O_RDONLY) : -1;
    if (file < 0)
        return 1;
    switch (arguments[1][0]) {
    case 'e':
        return fread(bits, 1, BITS, stdin) == BITS ? evict(file, bits), 0 : 1;
    case 'l':
        return fread(bits, 1, BITS, stdin) == BITS ? load(file, bits), 0 : 1;
    case 's':
        spend(file);
        return 0;
    case 'n':
        ask_without_waiting(file);
        return 0;
    default:
        count_faults(file);
        return 0;
    }
}
