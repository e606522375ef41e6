/* Rules: X1 X2
 * Attack: makes device nodes for the host's disks and memory.
 * Each: character block
 * Expect: forbidden_syscall mknodat | ok
 * Without SECCOMP: ok
 * Without ALL: ok
 */
#include "attack.h"

int main(int count, char **arguments)
{
    start();
    mode_t kind = count > 1 && strcmp(arguments[1], "block") == 0 ? S_IFBLK : S_IFCHR;
    must_fail(mknod("/work/memory", kind | 0666, 0x101), EPERM);
    must_fail(mknod("/work/disk", kind | 0666, 0x800), EPERM);
    must_fail(mknod("/work/null", kind | 0666, 0x103), EPERM);
    return held();
}
