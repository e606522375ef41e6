/* Rules: X4 X1
 * Attack: installs its own filter above the sandbox's, to allow everything or to decide itself.
 * Each: allow trace listener
 * Expect: signalled SIGSYS | forbidden_syscall seccomp
 * Only SECCOMP: signalled SIGSYS | forbidden_syscall seccomp
 */
#include "attack.h"
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>

int main(int count, char **arguments)
{
    start();
    const char *kind = count > 1 ? arguments[1] : "";
    uint32_t answer = strcmp(kind, "trace") == 0 ? SECCOMP_RET_TRACE : SECCOMP_RET_ALLOW;
    struct sock_filter code[] = {BPF_STMT(BPF_RET | BPF_K, answer)};
    struct sock_fprog filter = {1, code};
    if (strcmp(kind, "listener") == 0)
        syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER,
                &filter);
    else
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter, 0, 0);
    syscall(SYS_unshare, CLONE_NEWUSER);
    got_through("unshare: %s", strerror(errno));
    return held();
}
