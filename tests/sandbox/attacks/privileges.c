/* Rules: X1
 * Attack: looks for a capability, a group or a uid that was not dropped.
 * Expect: ok
 * Without SECCOMP: ok
 * Without ALL: ok
 */
#include "attack.h"
#include <grp.h>
#include <sys/prctl.h>

static void must_have(const char *status, const char *name, const char *value)
{
    const char *line = strstr(status, name);
    if (!line)
        got_through("%s is not in the status", name);
    else if (strncmp(line + strlen(name), value, strlen(value)) != 0)
        got_through("%.*s", (int)strcspn(line + 1, "\n"), line + 1);
}

int main(void)
{
    start();
    static char status[8192];
    must_be(read_file("/proc/self/status", status, sizeof status) > 0);
    must_have(status, "\nUid:", "\t1000\t1000\t1000\t1000\n");
    must_have(status, "\nGid:", "\t1000\t1000\t1000\t1000\n");
    must_have(status, "\nCapInh:", "\t0000000000000000\n");
    must_have(status, "\nCapPrm:", "\t0000000000000000\n");
    must_have(status, "\nCapEff:", "\t0000000000000000\n");
    must_have(status, "\nCapBnd:", "\t0000000000000000\n");
    must_have(status, "\nCapAmb:", "\t0000000000000000\n");
    must_have(status, "\nNoNewPrivs:", "\t1\n");
    must_have(status, "\nTracerPid:", "\t0\n");
    must_have(status, "\nSigBlk:", "\t0000000000000000\n");
    must_have(status, "\nSigIgn:", "\t0000000000000000\n");
    must_have(status, "\nShdPnd:", "\t0000000000000000\n");
    must_be(has_one_id() || getgroups(0, NULL) == 0); /* without root groups can't be dropped */
    must_be(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1);
    return held();
}
