/* Finds, creates and removes control groups, from the runner; cgroup.h explains the layout. */
#define _GNU_SOURCE
#include "cgroup.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "kernel.h"

#define EVACUATION_TRIES 200  /* 2 ms apart */
#define REMOVE_TRIES     200  /* 5 ms apart */
#define LAST_TRIES       2000 /* at the end, when nobody else waits; Python waits longer */
#define MAKE_TRIES       100

static const char *const NAMES[CONTROLLERS] = {"memory", "pids", "cpu", "cpuacct", "blkio"};

/* ---- finding the hierarchies ---- */

static bool has_word(const char *list, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = list; at; at = strchr(at, ',')) {
        at += *at == ',';
        if (!strncmp(at, word, length) && (at[length] == 0 || at[length] == ','))
            return true;
    }
    return false;
}

/* Finds the runner's own group in the hierarchy with this controller ("" is version 2). */
static bool own_group(const char *controller, char *out, size_t bytes)
{
    FILE *file = fopen("/proc/self/cgroup", "re");
    if (!file)
        return false;
    char line[PATH_MAX + 256];
    bool found = false;
    while (!found && fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = 0;
        char *list = strchr(line, ':');
        char *path = list ? strchr(list + 1, ':') : NULL;
        if (!path)
            continue;
        *path++ = 0;
        list++;
        found = *controller ? has_word(list, controller) : *list == 0;
        if (found)
            snprintf(out, bytes, "%s", path);
    }
    fclose(file);
    return found;
}

/* Finds the directory of the runner's own group, below the hierarchy's mount point. */
static bool own_directory(const char *controller, char *out, size_t bytes)
{
    char group[PATH_MAX];
    FILE *file =
        own_group(controller, group, sizeof group) ? fopen("/proc/self/mountinfo", "re") : NULL;
    if (!file)
        return false;
    char line[2 * PATH_MAX];
    bool found = false;
    while (!found && fgets(line, sizeof line, file)) {
        char root[PATH_MAX], point[PATH_MAX], type[64], options[1024];
        char *tail = strstr(line, " - ");
        if (!tail || sscanf(line, "%*s %*s %*s %4095s %4095s", root, point) != 2 ||
            sscanf(tail, " - %63s %*s %1023s", type, options) != 2)
            continue;
        if (*controller ? strcmp(type, "cgroup") || !has_word(options, controller)
                        : strcmp(type, "cgroup2"))
            continue;
        size_t prefix = strcmp(root, "/") ? strlen(root) : 0;
        if (strncmp(group, root, prefix))
            continue;
        const char *below = group + prefix;
        found =
            snprintf(out, bytes, "%s%s", point, strcmp(below, "/") ? below : "") < (int)bytes;
    }
    fclose(file);
    return found;
}

/* ---- removing the groups of dead runners ---- */

static void kill_members(int dir)
{
    if (write_text(dir, "cgroup.kill", "1") == 0)
        return;
    int fd = openat(dir, "cgroup.procs", O_RDONLY | O_CLOEXEC);
    FILE *file = fd >= 0 ? fdopen(fd, "r") : NULL;
    if (!file)
        return;
    int pid;
    while (fscanf(file, "%d", &pid) == 1)
        if (pid > 1 && pid != getpid())
            kill(pid, SIGKILL);
    fclose(file);
}

/* Removes a group and all groups below it. Members die asynchronously, so a busy directory is
 * tried again: `tries` counts down for all directories together. */
static void remove_group(int parent, const char *name, int *tries)
{
    int dir = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *list = dir >= 0 ? fdopendir(dir) : NULL;
    if (!list)
        return;
    for (struct dirent *entry; (entry = readdir(list));)
        if (entry->d_type == DT_DIR && strcmp(entry->d_name, ".") &&
            strcmp(entry->d_name, ".."))
            remove_group(dir, entry->d_name, tries);
    while (unlinkat(parent, name, AT_REMOVEDIR) && errno == EBUSY && (*tries)-- > 0) {
        kill_members(dir);
        usleep(5000);
    }
    closedir(list);
}

static void remove_stale_groups(int parent)
{
    DIR *list = fdopendir(dup(parent));
    if (!list)
        return;
    rewinddir(list);
    for (struct dirent *entry; (entry = readdir(list));) {
        if (strncmp(entry->d_name, "deemster.", 9))
            continue;
        int dir = openat(parent, entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (dir < 0)
            continue;
        int tries = REMOVE_TRIES;
        if (flock(dir, LOCK_EX | LOCK_NB) == 0)
            remove_group(parent, entry->d_name, &tries);
        close(dir);
    }
    closedir(list);
}

/* ---- the runner's own directories ---- */

/* Creates and locks <parent>/deemster.<pid>.<n>. Another runner may remove it before it is
 * locked, and one in another pid namespace may have the same pid: then this tries the next. */
static int make_locked(struct hierarchy *at, const char *parent)
{
    for (int tries = 0; tries < MAKE_TRIES; tries++) {
        if (snprintf(at->path, sizeof at->path, "%s/deemster.%d.%d", parent, (int)getpid(),
                     tries) >= (int)sizeof at->path) {
            errno = ENAMETOOLONG;
            return -1;
        }
        if (mkdir(at->path, 0755) && errno != EEXIST)
            return -1;
        at->dir = open(at->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (at->dir < 0)
            continue;
        struct stat held, named;
        if (flock(at->dir, LOCK_EX | LOCK_NB) == 0 && fstat(at->dir, &held) == 0 &&
            stat(at->path, &named) == 0 && held.st_ino == named.st_ino)
            return 0;
        close(at->dir);
        at->dir = -1;
    }
    return -1;
}

/* Moves all processes of a group into a group below it: version 2 allows a group to enable
 * controllers only if it has no processes of its own. */
static int evacuate(int parent)
{
    if (mkdirat(parent, "main", 0755) && errno != EEXIST)
        return -1;
    int members = openat(parent, "cgroup.procs", O_RDONLY | O_CLOEXEC);
    int target = openat(parent, "main/cgroup.procs", O_WRONLY | O_CLOEXEC);
    FILE *file = members >= 0 && target >= 0 ? fdopen(members, "r") : NULL;
    if (!file)
        return -1;
    int pid;
    while (fscanf(file, "%d", &pid) == 1)
        write_fd_number(target, (uint64_t)pid);
    fclose(file);
    close(target);
    return 0;
}

/* Enables our controllers for the groups below `dir`. */
static int enable_controllers(int dir)
{
    if (write_text(dir, "cgroup.subtree_control", "+memory +pids"))
        return -1;
    /* Optional: only the CPU quota and the limit of reads need them. */
    write_text(dir, "cgroup.subtree_control", "+cpu");
    write_text(dir, "cgroup.subtree_control", "+io");
    return 0;
}

/* Chooses the version 2 group to create ours in: the runner's own group if that was delegated
 * to it, otherwise the top. */
static int choose_parent(bool privileged, char *path, size_t bytes)
{
    char own[PATH_MAX], group[PATH_MAX];
    if (!own_directory("", own, sizeof own) || !own_group("", group, sizeof group))
        return -1;
    char mark[8];
    bool delegated = !privileged || getxattr(own, "trusted.delegate", mark, sizeof mark) > 0 ||
                     getxattr(own, "user.delegate", mark, sizeof mark) > 0;
    size_t top = strlen(own) - (strcmp(group, "/") ? strlen(group) : 0);
    snprintf(path, bytes, "%.*s", (int)(delegated ? strlen(own) : top), own);
    /* An earlier runner moved this process into `main`: its parent is the delegated group. */
    size_t length = strlen(path);
    if (delegated && length > 5 && !strcmp(path + length - 5, "/main"))
        path[length - 5] = 0;
    return 0;
}

static int open_v2(struct hierarchy *at, bool privileged)
{
    char path[PATH_MAX];
    if (choose_parent(privileged, path, sizeof path))
        return -1;
    int parent = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (parent < 0)
        return -1;
    remove_stale_groups(parent);
    /* Other runners may start in the same group and fork while it is being emptied. */
    bool enabled = enable_controllers(parent) == 0;
    for (int tries = 0; !enabled && errno == EBUSY && tries < EVACUATION_TRIES; tries++) {
        if (evacuate(parent))
            break;
        enabled = enable_controllers(parent) == 0;
        if (enabled)
            break;
        int saved_error = errno;
        usleep(2000);
        errno = saved_error;
    }
    int saved = errno;
    close(parent);
    errno = saved;
    if (!enabled || make_locked(at, path))
        return -1;
    return enable_controllers(at->dir);
}

static int open_v1(struct hierarchy *at, const char *own)
{
    int parent = open(own, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (parent < 0)
        return -1;
    remove_stale_groups(parent);
    close(parent);
    return make_locked(at, own);
}

int cgroups_open(struct cgroups *groups, bool privileged, struct fault *fault)
{
    char owns[CONTROLLERS][PATH_MAX];
    int v2 = -1;
    for (int c = 0; c < CONTROLLERS; c++) {
        groups->of[c] = -1;
        if (c == IO && !groups->read_bytes_per_s)
            continue;
        char own[PATH_MAX];
        bool v1 = own_directory(NAMES[c], own, sizeof own);
        if (!v1 && v2 >= 0) {
            groups->of[c] = v2;
            continue;
        }
        for (int i = 0; v1 && i < groups->count; i++)
            if (groups->list[i].version == 1 && !strcmp(owns[i], own))
                groups->of[c] = i; /* mounted together, such as cpu,cpuacct */
        if (groups->of[c] >= 0)
            continue;
        struct hierarchy *at = &groups->list[groups->count];
        at->version = v1 ? 1 : 2;
        at->dir = -1;
        if (v1 ? open_v1(at, own) : open_v2(at, privileged)) {
            if (at->dir >= 0)
                groups->count++;
            if (c == CPU || c == IO)
                continue;
            char step[WIRE_STEP_BYTES];
            snprintf(step, sizeof step, "cgroup-%s", NAMES[c]);
            return fail(fault, step);
        }
        snprintf(owns[groups->count], PATH_MAX, "%s", own);
        if (!v1)
            v2 = groups->count;
        groups->of[c] = groups->count++;
    }
    return 0;
}

int cgroups_lower_weight(struct cgroups *groups)
{
    if (groups->count == 0 || groups->of[CPU] < 0)
        return 0;
    const struct hierarchy *at = &groups->list[groups->of[CPU]];
    int result = at->version == 1 ? write_text(at->dir, "cpu.shares", "2")
                                  : write_text(at->dir, "cpu.weight", "1");
    return result && errno != ENOENT ? -1 : 0;
}

/* Also removes what killed runners left: on a busy machine, their members may have been alive
 * when this runner started. */
void cgroups_close(struct cgroups *groups)
{
    int tries = LAST_TRIES;
    for (int i = 0; i < groups->count; i++) {
        struct hierarchy *at = &groups->list[i];
        int parent = openat(at->dir, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        remove_group(AT_FDCWD, at->path, &tries);
        close(at->dir);
        if (parent >= 0) {
            remove_stale_groups(parent);
            close(parent);
        }
    }
    groups->count = 0;
}

/* ---- slots ---- */

static void slot_name(char *out, size_t bytes, unsigned slot)
{
    snprintf(out, bytes, "s%u", slot);
}

static int open_v1_files(struct meter *m, enum controller c, int dir)
{
    switch (c) {
    case MEMORY:
        m->memory_limit = openat(dir, "memory.limit_in_bytes", O_RDWR | O_CLOEXEC);
        m->swap_limit = openat(dir, "memory.memsw.limit_in_bytes", O_RDWR | O_CLOEXEC);
        m->usage = openat(dir, "memory.usage_in_bytes", O_RDONLY | O_CLOEXEC);
        m->peak = openat(dir, "memory.max_usage_in_bytes", O_RDWR | O_CLOEXEC);
        m->memory_stat = openat(dir, "memory.stat", O_RDONLY | O_CLOEXEC);
        m->reclaim = openat(dir, "memory.force_empty", O_WRONLY | O_CLOEXEC);
        m->oom = openat(dir, "memory.oom_control", O_RDONLY | O_CLOEXEC);
        m->peak_resets = true;
        /* Without it a reclaim would swap the spawner out. */
        write_text(dir, "memory.swappiness", "0");
        m->oom_event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        char text[64];
        snprintf(text, sizeof text, "%d %d", m->oom_event, m->oom);
        if (write_text(dir, "cgroup.event_control", text)) {
            close(m->oom_event);
            m->oom_event = -1; /* then an OOM kill is noticed only at the end of the run */
        }
        return m->memory_limit < 0 || m->usage < 0 || m->peak < 0 || m->oom < 0 ? -1 : 0;
    case PIDS:
        m->pids_limit = openat(dir, "pids.max", O_RDWR | O_CLOEXEC);
        m->pids_now = openat(dir, "pids.current", O_RDONLY | O_CLOEXEC);
        m->pids_events = openat(dir, "pids.events", O_RDONLY | O_CLOEXEC);
        return m->pids_limit < 0 || m->pids_now < 0 ? -1 : 0;
    case CPU:
        m->cpu_quota = openat(dir, "cpu.cfs_quota_us", O_RDWR | O_CLOEXEC);
        return 0;
    case CPUACCT:
        m->cpu_usage = openat(dir, "cpuacct.usage", O_RDONLY | O_CLOEXEC);
        return m->cpu_usage < 0 ? -1 : 0;
    case IO:
        return 0;
    default:
        return -1;
    }
}

/* Lets the slot's uid create groups and start processes in them. */
static int delegate(int dir, uid_t owner)
{
    return fchown(dir, owner, (gid_t)-1) || fchownat(dir, "cgroup.procs", owner, (gid_t)-1, 0)
               ? -1
               : 0;
}

int cgroups_make_slot(struct cgroups *groups, unsigned slot, uid_t owner, struct meter *meter,
                      struct fault *fault)
{
    char name[32];
    slot_name(name, sizeof name, slot);
    *meter = (struct meter){.on = true,
                            .slot_dir = -1,
                            .leaf = -1,
                            .memory_limit = -1,
                            .swap_limit = -1,
                            .usage = -1,
                            .peak = -1,
                            .memory_stat = -1,
                            .reclaim = -1,
                            .oom = -1,
                            .oom_event = -1,
                            .pids_limit = -1,
                            .pids_now = -1,
                            .pids_events = -1,
                            .cpu_usage = -1,
                            .cpu_quota = -1};
    for (int i = 0; i < groups->count; i++) {
        struct hierarchy *at = &groups->list[i];
        int tries = REMOVE_TRIES;
        remove_group(at->dir, name, &tries);
        if (mkdirat(at->dir, name, 0755))
            return fail(fault, "cgroup-make-slot");
        int dir = openat(at->dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (dir < 0)
            return fail(fault, "cgroup-open-slot");
        if (at->version == 2) {
            meter->slot_dir = dir;
            if (enable_controllers(dir) || mkdirat(dir, "keep", 0755) || delegate(dir, owner))
                return fail(fault, "cgroup-delegate");
        }
        for (int c = 0; c < CONTROLLERS; c++) {
            if (groups->of[c] != i)
                continue;
            meter->v2[c] = at->version == 2;
            if (at->version == 1 && open_v1_files(meter, c, dir)) {
                close(dir);
                return fail(fault, "cgroup-open-files");
            }
        }
        if (groups->of[IO] == i)
            limit_reads(dir, at->version, groups->read_bytes_per_s);
        if (at->version == 1)
            close(dir);
    }
    return 0;
}

int cgroups_enter_slot(struct cgroups *groups, unsigned slot, pid_t spawner,
                       struct fault *fault)
{
    for (int i = 0; i < groups->count; i++) {
        char path[64], pid[32];
        snprintf(path, sizeof path, "s%u/%scgroup.procs", slot,
                 groups->list[i].version == 2 ? "keep/" : "");
        snprintf(pid, sizeof pid, "%d", (int)spawner);
        if (write_text(groups->list[i].dir, path, pid))
            return fail(fault, "cgroup-enter");
    }
    return 0;
}

void cgroups_remove_slot(struct cgroups *groups, unsigned slot)
{
    char name[32];
    slot_name(name, sizeof name, slot);
    for (int i = 0; i < groups->count; i++) {
        int tries = REMOVE_TRIES;
        remove_group(groups->list[i].dir, name, &tries);
    }
}
