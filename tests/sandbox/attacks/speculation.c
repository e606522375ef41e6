/* Rules: X1
 * Attack: runs with the branch predictions of other processes, where the kernel can separate them.
 * Expect: ok
 * Without SECCOMP: ok
 */
#include "attack.h"
#include <sys/prctl.h>

int main(void)
{
    start();
    int state = prctl(PR_GET_SPECULATION_CTRL, PR_SPEC_INDIRECT_BRANCH, 0, 0, 0);
    if (state > 0 && state & PR_SPEC_PRCTL) {
        must_be(state & PR_SPEC_FORCE_DISABLE);
        must_fail(prctl(PR_SET_SPECULATION_CTRL, PR_SPEC_INDIRECT_BRANCH, PR_SPEC_ENABLE, 0, 0),
                  EPERM);
    }
    return held();
}
