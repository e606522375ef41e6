/* Rules: X2 J8
 * Attack: leaves data for the next run in an extended attribute of the scratch directory.
 * Expect: forbidden_syscall setxattr
 * Without SECCOMP: ok
 */
#include "attack.h"
#include <sys/xattr.h>

int main(void)
{
    start();
    setxattr("/work", "user.planted", "x", 1, 0);
    return held();
}
