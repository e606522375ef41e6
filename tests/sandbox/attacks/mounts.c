/* Rules: X1 X2
 * Attack: looks for a mount that it may write to, that has devices, or that honours setuid.
 * Expect: ok
 * Without ALL: ok
 */
#include "attack.h"

static bool has_option(const char *options, const char *option)
{
    char copy[256];
    snprintf(copy, sizeof copy, "%s", options);
    for (char *rest = copy, *word; (word = strsep(&rest, ","));)
        if (strcmp(word, option) == 0)
            return true;
    return false;
}

int main(void)
{
    start();
    FILE *mounts = fopen("/proc/self/mountinfo", "re");
    must_be(mounts != NULL);
    char line[4096], path[1024], options[256];
    int count = 0;
    while (mounts && fgets(line, sizeof line, mounts)) {
        must_be(sscanf(line, "%*s %*s %*s %*s %1023s %255s", path, options) == 2);
        bool is_device = strncmp(path, "/dev/", 5) == 0;
        if (strcmp(path, "/work") != 0 && !has_option(options, "ro"))
            got_through("%s can be written to (%s)", path, options);
        if (!has_option(options, "nosuid"))
            got_through("%s allows setuid (%s)", path, options);
        if (!is_device && !has_option(options, "nodev"))
            got_through("%s allows devices (%s)", path, options);
        count++;
    }
    must_be(count > 3);
    return held();
}
