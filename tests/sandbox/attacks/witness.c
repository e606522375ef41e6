/* Rules: X2 X7 J8
 * Attack: looks for anything that the previous run left; it runs after every other attack.
 * Expect: ok
 * Without PID: ok
 * Without ALL: ok
 */
#include "attack.h"
#include <ctype.h>
#include <dirent.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>

static void look_for_data(void)
{
    DIR *data = opendir("/data");
    must_be(data != NULL);
    for (struct dirent *entry; data && (entry = readdir(data));)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            got_through("test data named %s", entry->d_name);
}

static void look_for_files(void)
{
    DIR *work = opendir("/work");
    must_be(work != NULL);
    for (struct dirent *entry; work && (entry = readdir(work));)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            got_through("a file named %s", entry->d_name);
    must_work(open("/work/mine", O_CREAT | O_EXCL | O_WRONLY, 0600));
    char names[256];
    must_be(listxattr("/work", names, sizeof names) <= 0);
    struct statvfs quota;
    must_work(statvfs("/work", &quota));
    must_be(quota.f_blocks - quota.f_bfree <= 4);
    must_be(quota.f_files - quota.f_ffree <= 4);
}

static void look_for_processes(void)
{
    DIR *proc = opendir("/proc");
    must_be(proc != NULL);
    char path[PATH_MAX], status[4096];
    for (struct dirent *entry; proc && (entry = readdir(proc));) {
        if (!isdigit(entry->d_name[0]) || atoi(entry->d_name) == getpid())
            continue;
        snprintf(path, sizeof path, "/proc/%s/status", entry->d_name);
        read_file(path, status, sizeof status);
        if (strstr(status, "\nUid:\t1000\t"))
            got_through("a process %s:\n%s", entry->d_name, status);
    }
}

int main(void)
{
    start();
    look_for_data();
    look_for_files();
    look_for_processes();
    return held();
}
