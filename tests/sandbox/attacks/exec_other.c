/* Rules: X4 X7
 * Attack: executes a system program, itself, a file that it wrote, or a memfd.
 * Each: system self script scratch unnamed
 * Expect: forbidden_syscall execve | forbidden_syscall execveat
 * Only SECCOMP: forbidden_syscall execve | forbidden_syscall execveat
 */
#include "attack.h"
#include <sys/sendfile.h>

static char *const NOTHING[] = {"attack", NULL};

static void copy_self(int target)
{
    int self = open("/proc/self/exe", O_RDONLY);
    must_work(self);
    while (sendfile(target, self, NULL, 1 << 20) > 0)
        ;
}

int main(int count, char **arguments)
{
    start();
    const char *kind = count > 1 ? arguments[1] : "";
    if (strcmp(kind, "system") == 0) {
        execve("/bin/true", NOTHING, NULL);
    } else if (strcmp(kind, "self") == 0) {
        execve("/proc/self/exe", NOTHING, NULL);
    } else if (strcmp(kind, "script") == 0) {
        int script = open("/work/script", O_CREAT | O_WRONLY, 0700);
        must_be(write(script, "#!/bin/sh\n", 10) == 10);
        close(script);
        execve("/work/script", NOTHING, NULL);
    } else if (strcmp(kind, "scratch") == 0) {
        int file = open("/work/copy", O_CREAT | O_WRONLY, 0700);
        copy_self(file);
        close(file);
        execve("/work/copy", NOTHING, NULL);
    } else {
        int file = memfd_create("copy", 0);
        copy_self(file);
        syscall(SYS_execveat, file, "", NOTHING, NULL, AT_EMPTY_PATH);
    }
    got_through("%s: %s", kind, strerror(errno));
    return held();
}
