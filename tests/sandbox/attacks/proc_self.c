/* Rules: X7 X1
 * Attack: uses its own /proc entries to write to read-only files.
 * Expect: ok
 * Without SECCOMP: ok
 * Without ALL: ok
 */
#include "attack.h"

#define NO EROFS, EACCES, EPERM, ENOENT, EINVAL

static void must_not_write(const char *path, const char *text)
{
    int file = open(path, O_WRONLY);
    if (file < 0)
        must_fail(file, NO);
    else
        must_fail(write(file, text, strlen(text)), NO);
    close(file);
}

/* A write to /proc/self/mem ignores read-only protection, but must not reach the file. */
static void overwrite_program(void)
{
    int program = open("/proc/self/exe", O_RDONLY);
    must_work(program);
    char *page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, program, 0);
    must_be(page != MAP_FAILED);
    int memory = open("/proc/self/mem", O_RDWR);
    if (memory >= 0)
        pwrite(memory, "gone", 4, (off_t)(uintptr_t)page);
    char head[4] = {0};
    must_be(pread(program, head, sizeof head, 0) == sizeof head);
    must_be(memcmp(head, "\177ELF", sizeof head) == 0);
}

int main(void)
{
    start();
    must_not_write("/proc/self/oom_score_adj", "-1000");
    must_not_write("/proc/self/uid_map", "0 0 4294967295");
    must_not_write("/proc/self/gid_map", "0 0 4294967295");
    must_not_write("/proc/self/setgroups", "allow");
    must_not_write("/proc/self/attr/current", "unconfined");
    must_fail(open("/proc/self/root/etc/passwd", O_WRONLY), NO);
    must_fail(open("/proc/self/cwd/../code/attack", O_RDWR), EROFS, EACCES, ETXTBSY);
    must_fail(open("/proc/self/exe", O_RDWR), EROFS, EACCES, ETXTBSY);
    must_fail(open("/proc/self/map_files", O_RDONLY | O_CREAT), ENOENT, EACCES, EPERM, EISDIR);
    overwrite_program();
    return held();
}
