/* deemster-runner: runs untrusted programs in boxes that are kept ready, for one Python process.
 *
 * Processes
 *   runner    this file. Python starts it with the control channel as descriptor 0. It makes
 *             the slots, replaces a slot that has died, clones mounts for /code and /data, and
 *             removes its cgroups at the end. It never talks to a program.
 *   spawner   one per slot (box.c sets it up, spawn.c serves it): pid 1 of the slot's pid
 *             namespace, in the slot's mount, net, uts and user namespaces and its cgroups. It
 *             talks to Python over the slot's own channel, so that a run does not involve the
 *             runner.
 *   init      made before the request of a run arrives (init.c): pid 1 of a new pid namespace. It
 *             reads the request, starts and watches the program, and answers the calls that the
 *             notify filter passes on. When it exits, the kernel kills everything that is left in
 *             the namespace. It serves several runs, one after another, as long as none leaves a
 *             process.
 *   program   pid 2. It sets its limits, drops its privileges and calls execve.
 *
 * Descriptors
 *   0 control channel, 2 error messages, one file for each filter and profile (closed once
 *   read), the locked cgroup directories, a signalfd. Each slot's end of its channel stays in
 *   that slot; Python's end is sent over the control channel.
 *
 * When a process dies
 *   Python   The channels close. Inits and spawners exit; the runner removes its cgroups and
 *            exits.
 *   runner   Spawners get SIGKILL (parent-death signal), and with pid 1 the whole slot ends.
 *            Python sees the closed channels and starts another runner, which removes the
 *            cgroups that this one left.
 *   spawner  The kernel kills the slot. The runner makes a new one and sends Python its channel.
 *
 * Privileges
 *   With root: the runner is root. Each slot is a user namespace; its root is the host's uid
 *   uid_base + 2n and its programs are uid_base + 2n + 1, which own nothing on the host and which
 *   no other runner has (uids.c).
 *   Without root: the runner first enters its own user and mount namespace, and its one uid is
 *   that of the programs too.
 *
 * Exit codes: 0 the control channel was closed; 2 wrong usage; 3 slots can't be made
 * (EVENT_FAULT has the reason). */
#define _GNU_SOURCE
#include <fcntl.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <linux/openat2.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "kernel.h"
#include "slot.h"
#include "state.h"

#define CONTROL          0
#define SETUP_TIMEOUT_MS 120000 /* a machine may be busy fifty times over */
#define MAX_FAILURES     5      /* of one slot in a row, each within a second of its start */

struct runner {
    struct options options;
    struct cgroups cgroups;
    int signals;
    struct {
        pid_t pid;
        struct shared *shared;
        time_t made_at;
        int failures;
    } slots[MAX_SLOTS];
};

static void print_error(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("deemster-runner: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
}

static time_t seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec;
}

/* ---- command line ---- */

static const char USAGE[] =
    "usage: deemster-runner --slots N [--layers MASK] [--cpu N]...\n"
    "                       [--share-cpus 0|1] [--low-priority 0|1] [--keep-page-cache 0|1]\n"
    "                       [--read-mib-per-s N]\n"
    "                       [--link TEXT PATH]... [--below DIR]... --views FD\n"
    "                       --deny-filter FD --notify-filter FD --profile FD...\n"
    "Runs untrusted programs in boxes; started by Deemster with a control socket as descriptor "
    "0.\n";

/* Reads a filter's file: the token and the architecture, 8 bytes each, then the BPF
 * instructions. */
static int read_filter(int fd, struct sock_fprog *filter, struct options *options)
{
    struct stat status;
    uint64_t head[2];
    if (fstat(fd, &status) || status.st_size < 24 || status.st_size > 16 + 8 * BPF_MAXINSNS ||
        status.st_size % 8 || pread(fd, head, sizeof head, 0) != sizeof head)
        return -1;
    size_t bytes = (size_t)status.st_size - sizeof head;
    filter->filter = malloc(bytes);
    if (!filter->filter || pread(fd, filter->filter, bytes, sizeof head) != (ssize_t)bytes)
        return -1;
    filter->len = (unsigned short)(bytes / 8);
    options->token = head[0];
    options->arch = (uint32_t)head[1];
    return close(fd);
}

static int read_profile(int fd, struct profile *profile)
{
    return pread(fd, profile, sizeof *profile, 0) == sizeof *profile ? close(fd) : -1;
}

/* Parses one option with its values; returns how many elements of argv it used, 0 if it is
 * wrong. */
static int parse_option(struct options *options, int left, char **argv)
{
    const char *name = argv[0];
    if (left >= 3 && !strcmp(name, "--link") && options->link_count < MAX_LINKS &&
        *argv[2] == '/') {
        options->links[options->link_count].source = argv[1];
        options->links[options->link_count++].target = argv[2];
        return 3;
    }
    if (left < 2)
        return 0;
    if (!strcmp(name, "--below") && options->below_count < MAX_BELOW && *argv[1] == '/') {
        options->below[options->below_count++].path = argv[1];
        return 2;
    }
    char *end;
    unsigned long number = strtoul(argv[1], &end, 0);
    if (!*argv[1] || *end || number > INT32_MAX)
        return 0;
    if (!strcmp(name, "--slots") && number >= 1 && number <= MAX_SLOTS)
        options->slots = (unsigned)number;
    else if (!strcmp(name, "--layers") && number <= LAYERS_ALL)
        options->layers = (unsigned)number;
    else if (!strcmp(name, "--cpu") && options->cpu_count < MAX_CPUS && number < CPU_SETSIZE)
        options->cpus[options->cpu_count++] = (int)number;
    else if (!strcmp(name, "--share-cpus") && number <= 1)
        options->share_cpus = number;
    else if (!strcmp(name, "--low-priority") && number <= 1)
        options->low_priority = number;
    else if (!strcmp(name, "--keep-page-cache") && number <= 1)
        options->keep_page_cache = number;
    else if (!strcmp(name, "--read-mib-per-s"))
        options->read_bytes_per_s = (uint64_t)number << 20;
    else if (!strcmp(name, "--views") && !options->views.count &&
             !views_read((int)number, &options->views))
        return 2;
    else if (!strcmp(name, "--deny-filter") && !options->deny_filter.len &&
             !read_filter((int)number, &options->deny_filter, options))
        return 2;
    else if (!strcmp(name, "--notify-filter") && !options->notify_filter.len &&
             !read_filter((int)number, &options->notify_filter, options))
        return 2;
    else if (!strcmp(name, "--profile") && options->profile_count < MAX_PROFILES &&
             !read_profile((int)number, &options->profiles[options->profile_count]))
        options->profile_count++;
    else
        return 0;
    return 2;
}

static int parse_options(struct options *options, int argc, char **argv)
{
    options->layers = LAYERS_ALL;
    for (int at = 1; at < argc;) {
        int used = parse_option(options, argc - at, argv + at);
        if (!used) {
            print_error("unknown or invalid option '%s'", argv[at]);
            return -1;
        }
        at += used;
    }
    return options->slots && options->deny_filter.len && options->notify_filter.len &&
                   options->profile_count && options->views.count
               ? 0
               : -1;
}

/* ---- privileges ---- */

static bool maps_ids(const char *path, uint64_t first, uint64_t count)
{
    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    uint64_t inside, outside, length;
    bool found = false;
    while (!found &&
           fscanf(file, "%" SCNu64 "%" SCNu64 "%" SCNu64, &inside, &outside, &length) == 3)
        found = inside <= first && first + count <= inside + length;
    fclose(file);
    return found;
}

static bool is_privileged(void)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2];
    if (syscall(SYS_capget, &head, data))
        return false;
    uint32_t needed =
        1U << CAP_SYS_ADMIN | 1U << CAP_SETUID | 1U << CAP_SETGID | 1U << CAP_CHOWN;
    const uint64_t ids = 2 * (uint64_t)LEASED_SLOTS;
    return (data[0].effective & needed) == needed &&
           maps_ids("/proc/self/uid_map", UID_BASE, ids) &&
           maps_ids("/proc/self/gid_map", UID_BASE, ids);
}

static int map_one(const char *path, unsigned inside, unsigned outside)
{
    char text[64];
    snprintf(text, sizeof text, "%u %u 1", inside, outside);
    return write_text(AT_FDCWD, path, text);
}

/* Without root: enters a user namespace in which the runner may clone mounts and make slots. */
static int enter_own_namespace(struct fault *fault)
{
    unsigned uid = geteuid(), gid = getegid();
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS))
        return fail(fault, "own-user-namespace");
    if (write_text(AT_FDCWD, "/proc/self/setgroups", "deny") ||
        map_one("/proc/self/uid_map", uid, uid) || map_one("/proc/self/gid_map", gid, gid))
        return fail(fault, "own-id-maps");
    return 0;
}

/* ---- making slots ---- */

static int send_event(enum control_event kind, unsigned slot, const struct fault *fault, int fd)
{
    struct event event = {.magic = WIRE_MAGIC, .event = kind, .slot = slot};
    if (fault) {
        event.error = fault->error;
        memcpy(event.step, fault->step, sizeof event.step);
    }
    return kernel_send(CONTROL, &event, sizeof event, fd, 0);
}

static uid_t slot_uid(const struct options *options, unsigned number)
{
    return options->privileged ? options->uid_base + 2 * number : geteuid();
}

static int announce_slot(const struct runner *runner, unsigned number, int channel)
{
    const struct options *options = &runner->options;
    struct event event = {.magic = WIRE_MAGIC,
                          .event = EVENT_SLOT,
                          .slot = number,
                          .uid = slot_uid(options, number) + options->privileged,
                          .pid = (uint32_t)runner->slots[number].pid};
    return kernel_send(CONTROL, &event, sizeof event, channel, 0);
}

/* In the spawner: closes everything that belongs to the runner. */
static int close_runner_files(struct runner *runner, struct fault *fault)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = 0; fd < 3; fd++)
        if (null < 0 || dup2(null, fd) < 0)
            return fail(fault, "close-runner");
    close(null);
    close(runner->signals);
    for (int i = 0; i < runner->options.below_count; i++)
        close(
            runner->options.below[i].dir); /* otherwise the slot could reach the host's files */
    for (int i = 0; i < runner->cgroups.count; i++)
        close(
            runner->cgroups.list[i].dir); /* otherwise the slot would keep the runner's locks */
    sigset_t none;
    sigemptyset(&none);
    return sigprocmask(SIG_SETMASK, &none, NULL) ? fail(fault, "slot-signals") : 0;
}

static _Noreturn void slot_main(struct runner *runner, struct slot *slot, int sync)
{
    struct fault fault = {0};
    char go;
    if (read(sync, &go, 1) != 1)
        _exit(1);
    if (close_runner_files(runner, &fault) == 0)
        slot_enter(slot, &fault);
    slot_close_trees(slot);
    if (write(sync, &fault, sizeof fault) != sizeof fault || fault.error)
        _exit(1);
    close(sync);
    _exit(slot_serve(slot) ? 1 : 0);
}

/* In the runner: does for the spawner what the spawner can't do itself (ids and cgroups), lets
 * it go on, and waits until it is ready. */
static int set_up_child(struct runner *runner, unsigned number, pid_t pid, int sync,
                        struct fault *fault)
{
    const struct options *options = &runner->options;
    char path[64], text[128];
    static const char *const kinds[] = {"uid_map", "gid_map"};
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, kinds[i]);
        unsigned first = slot_uid(options, number);
        if (options->privileged)
            snprintf(text, sizeof text, "0 %u 1\n%d %u 1\n", first, PROGRAM_ID, first + 1);
        else
            snprintf(text, sizeof text, "%d %u 1\n", PROGRAM_ID, i ? getegid() : geteuid());
        if (write_text(AT_FDCWD, path, text))
            return fail(fault, kinds[i]);
    }
    snprintf(path, sizeof path, "/proc/%d/oom_score_adj", (int)pid);
    write_text(AT_FDCWD, path,
               "-1000"); /* only root may; otherwise the program's own 1000 is enough */
    if (options->layers & LAYER_CGROUP &&
        cgroups_enter_slot(&runner->cgroups, number, pid, fault))
        return -1;
    if (write(sync, "g", 1) != 1)
        return fail(fault, "start-slot");
    struct pollfd ready = {sync, POLLIN, 0};
    if (poll(&ready, 1, SETUP_TIMEOUT_MS) != 1)
        return fail_with(fault, "slot-timeout", ETIMEDOUT);
    if (read(sync, fault, sizeof *fault) != sizeof *fault)
        return fail_with(fault, "slot-died", ECHILD);
    return fault->error ? -1 : 0;
}

static int fork_slot(struct runner *runner, struct slot *slot, int channel[2],
                     struct fault *fault)
{
    int sync[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sync))
        return fail(fault, "slot-sync");
    unsigned layers = slot->options->layers;
    uint64_t namespaces =
        CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | (layers & LAYER_NET ? CLONE_NEWNET : 0) |
        (layers & LAYER_IPC ? CLONE_NEWIPC : 0) | (layers & LAYER_UTS ? CLONE_NEWUTS : 0);
    pid_t pid = kernel_fork(namespaces);
    if (pid == 0) {
        close(sync[0]);
        close(channel[0]);
        slot_main(runner, slot, sync[1]);
    }
    close(sync[1]);
    int result = -1;
    if (pid < 0) {
        fail(fault, "slot-namespaces");
    } else {
        runner->slots[slot->number].pid = pid;
        result = set_up_child(runner, slot->number, pid, sync[0], fault);
    }
    close(sync[0]);
    return result;
}

static int make_slot(struct runner *runner, unsigned number, struct fault *fault)
{
    struct slot slot = {.options = &runner->options, .number = number};
    slot.shared = mmap(NULL, sizeof *slot.shared, PROT_READ | PROT_WRITE,
                       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (slot.shared == MAP_FAILED)
        return fail(fault, "slot-memory");
    runner->slots[number].shared = slot.shared;
    runner->slots[number].made_at = seconds();
    slot.shared->scratch_bytes = 1 << 20;
    slot.shared->scratch_inodes = 64;
    slot.shared->view = -1;
    int channel[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, channel))
        return fail(fault, "slot-channel");
    slot.channel = channel[1];
    uid_t owner = slot_uid(&runner->options, number);
    int result = slot_open_trees(&slot, fault);
    if (!result && runner->options.layers & LAYER_CGROUP)
        result = cgroups_make_slot(&runner->cgroups, number, owner, &slot.shared->meter, fault);
    struct meter ours =
        slot.shared->meter; /* a copy: the spawner will open and close other files */
    if (!result)
        result = fork_slot(runner, &slot, channel, fault);
    /* The spawner has its own copies now, and later slots must not see this slot's memory. */
    slot_close_trees(&slot);
    meter_close(&ours);
    close(channel[1]);
    if (!result && announce_slot(runner, number, channel[0]))
        result = fail(fault, "announce-slot");
    close(channel[0]);
    madvise(slot.shared, sizeof *slot.shared, MADV_DONTFORK);
    return result;
}

static void clear_slot(struct runner *runner, unsigned number)
{
    if (runner->slots[number].shared)
        munmap(runner->slots[number].shared, sizeof *runner->slots[number].shared);
    runner->slots[number].shared = NULL;
    runner->slots[number].pid = 0;
    if (runner->options.layers & LAYER_CGROUP)
        cgroups_remove_slot(&runner->cgroups, number);
}

static void end_slot(struct runner *runner, unsigned number)
{
    pid_t pid = runner->slots[number].pid;
    if (pid > 0) {
        kill(pid, SIGKILL);
        while (waitpid(pid, NULL, __WALL) < 0 && errno == EINTR)
            ;
    }
    clear_slot(runner, number);
}

/* ---- serving ---- */

/* Reports why a slot ended and makes a new one. A slot that keeps failing ends the runner. */
static int replace_slot(struct runner *runner, unsigned number)
{
    struct fault fault = runner->slots[number].shared->fault;
    if (!fault.error)
        fail_with(&fault, "slot-killed", ECHILD);
    bool was_stable = seconds() - runner->slots[number].made_at > 1;
    runner->slots[number].failures = was_stable ? 0 : runner->slots[number].failures + 1;
    clear_slot(runner, number);
    send_event(EVENT_FAULT, number, &fault, -1);
    if (runner->slots[number].failures >= MAX_FAILURES)
        return -1;
    if (make_slot(runner, number, &fault)) {
        send_event(EVENT_FAULT, number, &fault, -1);
        return -1;
    }
    return 0;
}

static int reap_slots(struct runner *runner)
{
    struct signalfd_siginfo drained;
    while (read(runner->signals, &drained, sizeof drained) > 0)
        if (drained.ssi_signo != SIGCHLD)
            return -1;
    for (pid_t pid; (pid = waitpid(-1, NULL, WNOHANG | __WALL)) > 0;)
        for (unsigned i = 0; i < runner->options.slots; i++)
            if (runner->slots[i].pid == pid && replace_slot(runner, i))
                return -1;
    return 0;
}

/* Opens a directory that Python names, if it is below one of those given at the start. Python may
 * be able to write there: no link leads out. */
static int open_below(const struct options *options, const char *path)
{
    for (int i = 0; i < options->below_count; i++) {
        const char *top = options->below[i].path;
        size_t length = strlen(top);
        while (length && top[length - 1] == '/')
            length--;
        if (strncmp(path, top, length) || (path[length] && path[length] != '/'))
            continue;
        const char *rest = path + length + strspn(path + length, "/");
        struct open_how how = {.flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
                               .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS};
        return (int)syscall(SYS_openat2, options->below[i].dir, *rest ? rest : ".", &how,
                            sizeof how);
    }
    errno = EACCES;
    return -1;
}

/* Handles one instruction on the control channel; -1 if the channel was closed. */
static int handle_instruction(const struct options *options)
{
    struct {
        struct instruction instruction;
        char path[PATH_MAX];
    } packet;
    ssize_t got = recv(CONTROL, &packet, sizeof packet - 1, 0);
    if (got < 0)
        return errno == EINTR || errno == EAGAIN ? 0 : -1;
    if (got == 0)
        return -1;
    bool data = packet.instruction.instruction == CONTROL_ATTACH_DATA;
    if ((size_t)got <= sizeof packet.instruction || packet.instruction.magic != WIRE_MAGIC ||
        (!data && packet.instruction.instruction != CONTROL_ATTACH)) {
        print_error("dropped an invalid instruction on the control channel");
        return 0;
    }
    packet.path[(size_t)got - sizeof packet.instruction] = 0;
    int directory = open_below(options, packet.path);
    int tree =
        directory < 0 ? -1 : open_read_only_tree(directory, "", data ? TREE_DATA : TREE_FILES);
    struct fault fault;
    if (tree < 0)
        fail(&fault, "attach-directory");
    if (directory >= 0)
        close(directory);
    if (tree < 0)
        return send_event(EVENT_REFUSED, 0, &fault, -1);
    int result = send_event(EVENT_ATTACHED, 0, NULL, tree);
    close(tree);
    return result;
}

static int serve(struct runner *runner)
{
    struct pollfd watched[] = {{CONTROL, POLLIN, 0}, {runner->signals, POLLIN, 0}};
    for (;;) {
        if (poll(watched, 2, -1) < 0 && errno != EINTR)
            return 3;
        if (watched[0].revents && handle_instruction(&runner->options))
            return 0;
        if (watched[1].revents && reap_slots(runner))
            return 3;
    }
}

/* A nice value counts among the processes of one group only, so the group needs a low weight,
 * too. */
static int lower_priority(struct cgroups *groups)
{
    if (setpriority(PRIO_PROCESS, 0, 19))
        return -1;
    return cgroups_lower_weight(groups);
}

static int begin(struct runner *runner, struct fault *fault)
{
    sigset_t watched;
    sigemptyset(&watched);
    sigaddset(&watched, SIGCHLD);
    sigaddset(&watched, SIGTERM);
    sigaddset(&watched, SIGINT);
    if (reset_inherited_state(fault))
        return -1;
    if (sigprocmask(SIG_SETMASK, &watched, NULL))
        return fail(fault, "runner-signals");
    runner->signals = signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK);
    if (runner->signals < 0)
        return fail(fault, "runner-signals");
    cpu_set_t cpus;
    if (sched_getaffinity(0, sizeof cpus, &cpus))
        return fail(fault, "runner-cpus");
    runner->options.cores = (unsigned)CPU_COUNT(&cpus);
    runner->options.privileged = is_privileged();
    if (runner->options.privileged && lease_uids(&runner->options, fault))
        return -1;
    runner->cgroups.read_bytes_per_s = runner->options.read_bytes_per_s;
    if (runner->options.layers & LAYER_CGROUP &&
        cgroups_open(&runner->cgroups, runner->options.privileged, fault))
        return -1;
    if (runner->options.low_priority && lower_priority(&runner->cgroups))
        return fail(fault, "runner-priority");
    if (!runner->options.privileged && enter_own_namespace(fault))
        return -1;
    /* Only now: what was opened in another mount namespace can't be cloned. */
    for (int i = 0; i < runner->options.below_count; i++) {
        const char *path = runner->options.below[i].path;
        runner->options.below[i].dir = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (runner->options.below[i].dir < 0)
            return fail(fault, "open-below");
    }
    for (unsigned i = 0; i < runner->options.slots; i++)
        if (make_slot(runner, i, fault))
            return -1;
    return 0;
}

int main(int argc, char **argv)
{
    static struct runner runner;
    if (parse_options(&runner.options, argc, argv)) {
        fputs(USAGE, stderr);
        return 2;
    }
    struct fault fault = {0};
    int code = 3;
    if (begin(&runner, &fault) == 0)
        code = serve(&runner);
    else
        send_event(EVENT_FAULT, 0, &fault, -1);
    for (unsigned i = 0; i < runner.options.slots; i++)
        end_slot(&runner, i);
    cgroups_close(&runner.cgroups);
    return code;
}
