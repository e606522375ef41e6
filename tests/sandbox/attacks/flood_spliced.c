/* Rules: X7 J2
 * Attack: writes output without end by calls that copy no data.
 * Each: sendfile splice tee vmsplice
 * Terminal: no
 * Expect: output_limit | ok
 * Without SECCOMP: output_limit
 * Limits: output_bytes=256KiB
 */
#include "attack.h"
#include <sys/sendfile.h>
#include <sys/uio.h>

int main(int count, char **arguments)
{
    start();
    const char *call = count > 1 ? arguments[1] : "";
    static char block[1 << 16];
    int ends[2], file = open("/work/block", O_CREAT | O_RDWR, 0600);
    must_work(file);
    must_be(write(file, block, sizeof block) == sizeof block);
    must_work(pipe(ends));
    must_be(write(ends[1], block, sizeof block) == sizeof block);
    for (;;) {
        ssize_t moved = -1;
        off_t from = 0;
        if (strcmp(call, "sendfile") == 0)
            moved = sendfile(STDOUT_FILENO, file, &from, sizeof block);
        else if (strcmp(call, "splice") == 0)
            moved = splice(file, &from, STDOUT_FILENO, NULL, sizeof block, 0);
        else if (strcmp(call, "tee") == 0)
            moved = tee(ends[0], STDOUT_FILENO, sizeof block, 0);
        else if (strcmp(call, "vmsplice") == 0)
            moved = vmsplice(STDOUT_FILENO, &(struct iovec){block, sizeof block}, 1, 0);
        if (moved < 0) {
            must_be(errno == EINVAL && strcmp(call, "sendfile") != 0);
            return held();
        }
    }
}
