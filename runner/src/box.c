/* Builds a slot's root: a small read-only tmpfs with five devices, /proc, a scratch directory and
 * the files of one view (view.c).
 *
 * Processes and descriptors
 *   The runner clones the mounts, because it can read paths that the slot's uid can't, and
 *   passes them as descriptors. The spawner attaches them in its own mount namespace.
 *
 * Privileges
 *   The spawner runs slot_enter as root of its user namespace. Before it serves, it drops its
 *   capability bounding set, sets no_new_privs and loads the seccomp filters; each run's init
 *   and program inherit all of this.
 *
 * The slot keeps a complete /proc below the one that programs see: the kernel lets a user
 * namespace mount a new /proc only while an unmasked one is mounted. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <grp.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kernel.h"
#include "slot.h"
#include "state.h"
#include "warm.h"

static const char *const DEVICE_NAMES[DEVICES] = {"null", "zero", "full", "random", "urandom"};

/* ---- runner side ---- */

int open_read_only_tree(int dir, const char *path, enum tree_kind kind)
{
    unsigned empty = *path ? 0 : AT_EMPTY_PATH;
    int tree =
        kernel_open_tree(dir, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE | empty);
    if (tree < 0)
        return -1;
    struct mount_attr attr = {
        .attr_set = MOUNT_ATTR_NOSUID | MOUNT_ATTR_RDONLY |
                    (kind == TREE_DEVICE ? 0 : MOUNT_ATTR_NODEV) |
                    (kind == TREE_FILES ? 0 : MOUNT_ATTR_NOEXEC),
        /* /run, where builds are stored, is noexec on some systems; programs must run anyway. */
        .attr_clr = kind == TREE_FILES ? MOUNT_ATTR_NOEXEC : 0,
        .propagation = MS_PRIVATE,
    };
    int failed = kernel_mount_setattr(tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr);
    if (failed && errno == EPERM) { /* without root, noexec can't be cleared */
        attr.attr_clr = 0;
        failed = kernel_mount_setattr(tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr);
    }
    if (failed) {
        int saved = errno;
        close(tree);
        errno = saved;
        return -1;
    }
    return tree;
}

int slot_open_trees(struct slot *slot, struct fault *fault)
{
    const struct views *views = &slot->options->views;
    slot->tree_count = 0;
    slot->trees = calloc((size_t)views->source_count + DEVICES, sizeof *slot->trees);
    if (!slot->trees)
        return fail(fault, "clone-bind");
    for (int i = 0; i < views->source_count + DEVICES; i++) {
        char path[64];
        bool device = i >= views->source_count;
        if (device)
            snprintf(path, sizeof path, "/dev/%s", DEVICE_NAMES[i - views->source_count]);
        int tree = open_read_only_tree(AT_FDCWD, device ? path : views->sources[i],
                                       device ? TREE_DEVICE : TREE_FILES);
        if (tree < 0)
            return fail(fault, device ? "clone-device" : "clone-bind");
        slot->trees[slot->tree_count++] = tree;
    }
    return 0;
}

void slot_close_trees(struct slot *slot)
{
    while (slot->tree_count)
        close(slot->trees[--slot->tree_count]);
    free(slot->trees);
    slot->trees = NULL;
}

/* ---- spawner side ---- */

/* Fills the root of programs, which is the working directory here. */
static int fill_root(struct slot *slot, struct fault *fault)
{
    const struct options *options = slot->options;
    static const char *const directories[] = {"proc", "code", "data", "work",
                                              "dev",  "var",  "run"};
    for (size_t i = 0; i < sizeof directories / sizeof *directories; i++)
        if (mkdir(directories[i], 0755) && errno != EEXIST)
            return fail(fault, "root-directories");
    for (int i = 0; i < DEVICES; i++) {
        char path[64];
        snprintf(path, sizeof path, "dev/%s", DEVICE_NAMES[i]);
        if (attach_tree(slot->trees[options->views.source_count + i], path))
            return fail(fault, "root-devices");
    }
    static const char *const own_links[][2] = {
        {"/work", "tmp"},
        {"/work", "dev/shm"},
        {"/proc/self/fd", "dev/fd"},
        {"/work", "var/tmp"},
        {"/proc/self/fd/0", "dev/stdin"},
        {"/proc/self/fd/1", "dev/stdout"},
        {"/proc/self/fd/2", "dev/stderr"},
    };
    for (size_t i = 0; i < sizeof own_links / sizeof *own_links; i++)
        if (symlink(own_links[i][0], own_links[i][1]))
            return fail(fault, "root-links");
    for (int i = 0; i < options->link_count; i++)
        if (make_parents(options->links[i].target + 1) ||
            symlink(options->links[i].source, options->links[i].target + 1))
            return fail(fault, "root-links");
    return 0;
}

int scratch_mount(const struct slot *slot)
{
    const struct shared *shared = slot->shared;
    char data[128];
    snprintf(data, sizeof data, "size=%llu,nr_inodes=%u,mode=1777",
             (unsigned long long)shared->scratch_bytes, shared->scratch_inodes + 1);
    return kernel_mount("tmpfs", "/work", "tmpfs", MS_NOSUID | MS_NODEV | MS_NOATIME, data,
                        slot->token);
}

int proc_mount(const struct slot *slot)
{
    return kernel_mount("proc", "/proc", "proc", MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC,
                        "subset=pid,hidepid=ptraceable", slot->token);
}

/* Makes the root of programs, /box, and the views beside it. */
static int make_root(struct slot *slot, struct fault *fault)
{
    if (kernel_mount("tmpfs", "/tmp", "tmpfs", MS_NOSUID | MS_NODEV,
                     "size=16m,nr_inodes=65536,mode=755", 0))
        return fail(fault, "mount-root");
    if (chdir("/tmp"))
        return fail(fault, "enter-root");
    int box = make_mount("box");
    if (box < 0 || mkdir("views", 0755))
        return fail(fault, "mount-box");
    if (views_build(slot))
        return fail(fault, "build-views");
    if (fchdir(box))
        return fail(fault, "enter-box");
    close(box);
    if (fill_root(slot, fault))
        return -1;
    /* This one stays complete below those of the runs: see the top. */
    if (kernel_mount("proc", "proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL, 0))
        return fail(fault, "mount-proc");
    return chdir("/tmp") ? fail(fault, "enter-root") : 0;
}

static int build_root(struct slot *slot, struct fault *fault)
{
    if (kernel_mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL, 0))
        return fail(fault, "mount-private");
    if (make_root(slot, fault))
        return -1;
    struct mount_attr attr = {.attr_set =
                                  MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV};
    if (kernel_pivot_root(".", ".") || kernel_unmount(".", 0) || chdir("/"))
        return fail(fault, "pivot-root");
    if (kernel_mount_setattr(AT_FDCWD, "/", 0, &attr) ||
        kernel_mount_setattr(AT_FDCWD, "/box", 0, &attr))
        return fail(fault, "root-read-only");
    /* The views stay outside; the spawner reaches them by descriptors. */
    if (chdir("/box") || chroot("."))
        return fail(fault, "enter-box");
    if (scratch_mount(slot))
        return fail(fault, "mount-scratch");
    slot->proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (slot->proc < 0 || (!(slot->options->layers & LAYER_PID) && proc_mount(slot)))
        return fail(fault, "cover-proc");
    return 0;
}

/* Forbids new namespaces below this one by the kernel's own limits, in addition to seccomp. */
static int forbid_namespaces(const struct slot *slot)
{
    static const char *const kinds[] = {"user", "mnt", "net", "uts", "time"};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        char path[64];
        snprintf(path, sizeof path, "sys/user/max_%s_namespaces", kinds[i]);
        if (write_text(slot->proc, path, "0") && errno != ENOENT)
            return -1;
    }
    return 0;
}

static int drop_bounding_set(void)
{
    for (int capability = 0; prctl(PR_CAPBSET_READ, capability, 0, 0, 0) >= 0; capability++)
        if (prctl(PR_CAPBSET_DROP, capability, 0, 0, 0))
            return -1;
    return prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
}

static int pin_to_cpu(const struct slot *slot)
{
    const struct options *options = slot->options;
    if (!options->cpu_count)
        return 0;
    cpu_set_t set;
    CPU_ZERO(&set);
    for (int i = 0; i < options->cpu_count; i++)
        if (options->share_cpus || slot->number % (unsigned)options->cpu_count == (unsigned)i)
            CPU_SET(options->cpus[i], &set);
    return sched_setaffinity(0, sizeof set, &set);
}

/* Keeps programs from training the indirect branches of other processes, where the kernel lets a
 * process ask for it. Store bypass concerns only memory of the same process. */
static void restrict_speculation(void)
{
    prctl(PR_SET_SPECULATION_CTRL, PR_SPEC_INDIRECT_BRANCH, PR_SPEC_FORCE_DISABLE, 0, 0);
}

/* Loads the filters once for all runs: loading takes longer than the rest of a start. */
static int load_filters(struct slot *slot, struct fault *fault)
{
    slot->listener = -1;
    restrict_speculation();
    if (!(slot->options->layers & LAYER_SECCOMP))
        return 0;
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &slot->options->deny_filter))
        return fail(fault, "load-deny-filter");
    slot->listener =
        (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER,
                     &slot->options->notify_filter);
    if (slot->listener < 0)
        return fail(fault, "load-notify-filter");
    slot->token = slot->options->token;
    return 0;
}

int slot_enter(struct slot *slot, struct fault *fault)
{
    const struct options *options = slot->options;
    if (options->privileged && (setgroups(0, NULL) || setresgid(0, 0, 0) || setresuid(0, 0, 0)))
        return fail(fault, "become-slot-root");
    if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0))
        return fail(fault, "parent-death-signal");
    if (options->layers & LAYER_UTS && sethostname("box", 3))
        return fail(fault, "hostname");
    if (build_root(slot, fault))
        return -1;
    if (forbid_namespaces(slot))
        return fail(fault, "forbid-namespaces");
    if (pin_to_cpu(slot))
        return fail(fault, "pin-to-cpu");
    if (leave_session_keyring())
        return fail(fault, "session-keyring");
    if (options->privileged && kernel_make_inheritable(WARM_CAPABILITIES))
        return fail(fault, "inheritable-capabilities");
    if (drop_bounding_set())
        return fail(fault, "drop-bounding-set");
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
        return fail(fault, "no-new-privileges");
    if (setsid() < 0)
        return fail(fault, "slot-session");
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, slot->warm) ||
        pipe2(slot->warm_pipe, O_CLOEXEC))
        return fail(fault, "slot-warm-socket");
    return load_filters(slot, fault);
}
