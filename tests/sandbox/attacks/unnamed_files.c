/* Rules: X2 X9
 * Attack: tells the next run a number by files without a name, which leave the scratch as it was but
 *         use up its inode numbers.
 * Twice: yes
 * Expect: ok
 */
#include "attack.h"
#include <linux/openat2.h>

static void use_up_numbers(void)
{
    struct open_how how = {.flags = O_TMPFILE | O_RDWR, .mode = 0600};
    for (int i = 0; i < 100; i++) {
        close(open("/work", O_TMPFILE | O_RDWR, 0600));
        close((int)syscall(SYS_openat, AT_FDCWD, "/work", O_TMPFILE | O_RDWR, 0600));
        close((int)syscall(SYS_openat2, AT_FDCWD, "/work", &how, sizeof how));
    }
}

int main(int count, char **arguments)
{
    start();
    struct stat mine = {0};
    if (count > 1 && strcmp(arguments[1], "again") == 0) {
        must_work(fstat(open("/work/mine", O_CREAT | O_RDWR, 0600), &mine));
        if (mine.st_ino > 50)
            got_through("a new file has the number %lu", (unsigned long)mine.st_ino);
    } else {
        use_up_numbers();
    }
    return held();
}
