/* Rules: X7
 * Attack: opens its own input for writing, to change what others will read from it.
 * Stdin: the judge's input
 * Expect: ok
 * Without SECCOMP: ok
 * Without ALL: ok
 */
#include "attack.h"
#include <linux/falloc.h>

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
    /* In a pipe it could only reach itself. */
    if (!S_ISFIFO(input.st_mode)) {
        overwrite(STDIN_FILENO);
        overwrite(open("/proc/self/fd/0", O_RDWR));
        overwrite(open("/proc/self/fd/0", O_WRONLY));
        must_fail(open("/proc/self/fd/0", O_WRONLY | O_TRUNC), EACCES, EPERM, ETXTBSY);
    }
    char text[64] = {0};
    must_be(read(STDIN_FILENO, text, sizeof text - 1) == 17);
    must_be(strcmp(text, "the judge's input") == 0);
    return held();
}
