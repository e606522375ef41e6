/* Rules: X1 X7
 * Attack: makes itself root, or gives itself groups and capabilities.
 * Each: setuid setgid setreuid setregid setresuid setresgid setgroups capset setfsuid setfsgid
 * Expect: ok | forbidden_syscall $1
 * Without SECCOMP: ok
 * Without ALL: ok
 */
#include "attack.h"
#include <linux/capability.h>

int main(int count, char **arguments)
{
    start();
    const char *name = count > 1 ? arguments[1] : "";
    gid_t root_group = 0;
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct all[2] = {{-1u, -1u, -1u}, {-1u, -1u, -1u}};
    bool known = false;
#define TRY(call, ...)                                                                         \
    do {                                                                                       \
        if (strcmp(name, #call) == 0) {                                                        \
            known = true;                                                                      \
            must_fail(syscall(SYS_##call, __VA_ARGS__), EPERM, EINVAL);                        \
        }                                                                                      \
    } while (0)
    TRY(setuid, 0);
    TRY(setgid, 0);
    TRY(setreuid, 0, 0);
    TRY(setregid, 0, 0);
    TRY(setresuid, 0, 0, 0);
    TRY(setresgid, 0, 0, 0);
    TRY(setgroups, 1, &root_group);
    TRY(capset, &header, all);
    /* These two always return the old id; a second call shows whether it changed. */
    if (strncmp(name, "setfs", 5) == 0) {
        known = true;
        long call = strcmp(name, "setfsuid") == 0 ? SYS_setfsuid : SYS_setfsgid;
        syscall(call, 0);
        must_be(syscall(call, -1) == 1000);
    }
    must_be(known);
    must_be(getuid() == 1000 && geteuid() == 1000 && getgid() == 1000 && getegid() == 1000);
    return held();
}
