/* Rules: X7 J2
 * Attack: floods its output with pages that it never wrote.
 * Each: sendfile splice tee vmsplice
 * Expect: output_limit
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
    int ends[2], zero = open("/dev/zero", O_RDONLY);
    must_work(zero);
    must_work(pipe(ends));
    must_be(write(ends[1], block, sizeof block) == sizeof block);
    for (;;) {
        ssize_t moved = -1;
        if (strcmp(call, "sendfile") == 0)
            moved = sendfile(STDOUT_FILENO, zero, NULL, sizeof block);
        else if (strcmp(call, "splice") == 0)
            moved = splice(zero, NULL, STDOUT_FILENO, NULL, sizeof block, 0);
        else if (strcmp(call, "tee") == 0)
            moved = tee(ends[0], STDOUT_FILENO, sizeof block, 0);
        else if (strcmp(call, "vmsplice") == 0)
            moved = vmsplice(STDOUT_FILENO, &(struct iovec){block, sizeof block}, 1, 0);
        if (moved < 0) {
            got_through("nothing: %s: %s", call, strerror(errno));
            return held();
        }
    }
}
