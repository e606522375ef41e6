/* Rules: X5 X7
 * Attack: makes itself an unlikely victim of the OOM killer.
 * Each: memfd file shared
 * Expect: memory_limit
 * Without SECCOMP: memory_limit
 * Limits: memory_bytes=32MiB scratch_bytes=256MiB file_bytes=256MiB
 */
#include "attack.h"

/* Sets the lowest score that the kernel accepts. */
static void lower_oom_score(void)
{
    char text[8];
    for (int score = -1000; score < 1000; score++) {
        int file = open("/proc/self/oom_score_adj", O_WRONLY);
        int length = snprintf(text, sizeof text, "%d", score);
        ssize_t written = write(file, text, (size_t)length);
        close(file);
        if (written > 0)
            return;
    }
}

int main(int count, char **arguments)
{
    start();
    lower_oom_score();
    const char *kind = count > 1 ? arguments[1] : "";
    static const char page[4096];
    if (strcmp(kind, "shared") == 0) {
        /* Mapped one page at a time, so that it does not count as memory of this process. */
        int file = memfd_create("shared", 0);
        must_work(ftruncate(file, 128 << 20));
        for (off_t at = 0; at < 128 << 20; at += 4096) {
            char *one = mmap(NULL, 4096, PROT_WRITE, MAP_SHARED, file, at);
            *(volatile char *)one = 1;
            munmap(one, 4096);
        }
    } else {
        int file = strcmp(kind, "memfd") == 0 ? memfd_create("big", 0)
                                              : open("/work/big", O_CREAT | O_WRONLY, 0600);
        for (int i = 0; i < 32 << 10; i++)
            must_be(write(file, page, sizeof page) == sizeof page);
    }
    got_through("128 MiB");
    return held();
}
