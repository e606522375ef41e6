/* Rules: X7
 * Attack: opens its input for writing, to change what other runs read.
 * Stdin: the judge's input
 * Terminal: no
 * Expect: ok
 * Without SECCOMP: ok
 * Without ALL: ok
 */
#include "attack.h"
#include <linux/falloc.h>

/* Without root it may change the mode, which is harmless: see test_sealed.py. */
static void change_mode(void)
{
    if (has_one_id())
        return;
    must_fail(fchmod(STDIN_FILENO, 0), EPERM);
    must_fail(chmod("/proc/self/fd/0", 0), EPERM);
    must_fail(fchown(STDIN_FILENO, getuid(), getgid()), EPERM);
}

static void overwrite(int input)
{
    must_fail(pwrite(input, "x", 1, 0), EBADF, EPERM);
    must_fail(pwrite(input, "x", 1, 1 << 20), EBADF, EPERM);
    must_fail(ftruncate(input, 0), EBADF, EINVAL, EPERM);
    must_fail(ftruncate(input, 1 << 20), EBADF, EINVAL, EPERM);
    int hole = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
    must_fail(fallocate(input, hole, 0, 4096), EBADF, EPERM);
    int access = PROT_READ | PROT_WRITE;
    must_fail((long)mmap(NULL, 4096, access, MAP_SHARED, input, 0), EACCES, EBADF, EPERM);
}

int main(void)
{
    start();
    must_fail(read(STDOUT_FILENO, &(char){0}, 1), EBADF);
    must_fail(read(STDERR_FILENO, &(char){0}, 1), EBADF);
    must_fail(write(STDIN_FILENO, "x", 1), EBADF, EPERM);
    struct stat input;
    must_work(fstat(STDIN_FILENO, &input));
    /* A pipe would not be shared with other runs. */
    if (!S_ISFIFO(input.st_mode)) {
        overwrite(STDIN_FILENO);
        overwrite(open("/proc/self/fd/0", O_RDWR));
        overwrite(open("/proc/self/fd/0", O_WRONLY));
        must_fail(open("/proc/self/fd/0", O_WRONLY | O_TRUNC), EACCES, EPERM, ETXTBSY);
        must_fail(truncate("/proc/self/fd/0", 0), EACCES, EPERM);
        must_fail(fcntl(STDIN_FILENO, F_ADD_SEALS, 0), EPERM);
        char *mapped = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, STDIN_FILENO, 0);
        must_be(mapped != MAP_FAILED && mprotect(mapped, 4096, PROT_READ | PROT_WRITE) == 0);
        mapped[0] = 'T'; /* in a private copy */
        mapped = mmap(NULL, 4096, PROT_READ, MAP_SHARED, STDIN_FILENO, 0);
        if (mapped != MAP_FAILED) /* before Linux 6.7 this fails already */
            must_fail(mprotect(mapped, 4096, PROT_READ | PROT_WRITE), EACCES, EPERM);
        change_mode();
    }
    char text[64] = {0};
    must_be(read(STDIN_FILENO, text, sizeof text - 1) == 17);
    must_be(strcmp(text, "the judge's input") == 0);
    return held();
}
