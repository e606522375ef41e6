/* Rules: X1 X4 X7
 * Attack: makes calls that only root may; the kernel checks permission before arguments.
 * Each: mount umount2 pivot_root chroot setns ptrace process_vm_readv process_vm_writev
 * Each: kexec_load kexec_file_load init_module finit_module delete_module reboot swapon swapoff
 * Each: bpf perf_event_open userfaultfd open_by_handle_at fsopen fspick open_tree move_mount
 * Each: mount_setattr acct fanotify_init pidfd_getfd move_pages settimeofday
 * Each: clock_settime adjtimex clock_adjtime sethostname setdomainname vhangup
 * Expect: forbidden_syscall $1 | signalled SIGSYS
 * Only SECCOMP: forbidden_syscall $1 | signalled SIGSYS
 * Without SECCOMP: ok
 * Without ALL: ok
 */
#include "attack.h"
#include <linux/bpf.h>
#include <linux/fanotify.h>
#include <linux/perf_event.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/swap.h>
#include <sys/time.h>
#include <sys/timex.h>
#include <sys/uio.h>

/* ESRCH: the process is not visible. ENOSYS: this kernel was built without the call. */
static void try_call(const char *name)
{
    char memory[64] = {0};
    struct iovec here = {memory, sizeof memory}, there = {memory, sizeof memory};
    struct timex clock = {.modes = ADJ_FREQUENCY};
    struct timespec time = {0};
    struct timeval past = {0};
    union bpf_attr map = {.map_type = BPF_MAP_TYPE_HASH, .key_size = 4, .value_size = 4};
    struct perf_event_attr kernel = {.type = PERF_TYPE_SOFTWARE, .size = sizeof kernel};
    struct {
        unsigned bytes, type, inode, generation;
    } handle = {8, 1, 2, 0};
    bool known = false;
#define TRY(call, ...)                                                                         \
    do {                                                                                       \
        if (strcmp(name, #call) == 0) {                                                        \
            known = true;                                                                      \
            must_fail(syscall(SYS_##call, __VA_ARGS__), EPERM, EACCES, ESRCH, ENOSYS);         \
        }                                                                                      \
    } while (0)
    TRY(mount, "none", "/work", "tmpfs", 0, NULL);
    TRY(umount2, "/code", MNT_DETACH);
    TRY(pivot_root, "/work", "/work");
    TRY(chroot, "/work");
    TRY(setns, open("/proc/self/ns/mnt", O_RDONLY), 0);
    TRY(ptrace, PTRACE_ATTACH, 1, 0, 0);
    TRY(process_vm_readv, 1, &here, 1, &there, 1, 0);
    TRY(process_vm_writev, 1, &here, 1, &there, 1, 0);
    TRY(kexec_load, 0, 0, NULL, -1);
    TRY(kexec_file_load, -1, -1, 0, "", -1);
    TRY(init_module, memory, sizeof memory, "");
    TRY(finit_module, STDIN_FILENO, "", 0);
    TRY(delete_module, "none", O_NONBLOCK);
    TRY(reboot, 0, 0, 0, NULL);
    TRY(swapon, "/work/none", 0);
    TRY(swapoff, "/work/none");
    TRY(bpf, BPF_PROG_LOAD, &map, sizeof map);
    TRY(perf_event_open, &kernel, -1, 0, -1, 0);
    TRY(userfaultfd, O_CLOEXEC);
    TRY(open_by_handle_at, AT_FDCWD, &handle, O_RDONLY);
    TRY(fsopen, "tmpfs", 0);
    TRY(fspick, AT_FDCWD, "/", 0);
    TRY(open_tree, AT_FDCWD, "/", 1);
    TRY(move_mount, AT_FDCWD, "/code", AT_FDCWD, "/work", 0);
    TRY(mount_setattr, AT_FDCWD, "/code", 0, memory, 32);
    TRY(acct, NULL);
    TRY(fanotify_init, FAN_CLASS_CONTENT, O_RDONLY);
    TRY(pidfd_getfd, (int)syscall(SYS_pidfd_open, 1, 0), 0, 0);
    TRY(move_pages, 1, 1, (void *[]){memory}, NULL, (int[]){0}, 0);
    TRY(settimeofday, &past, NULL);
    TRY(clock_settime, CLOCK_REALTIME, &time);
    TRY(adjtimex, &clock);
    TRY(clock_adjtime, CLOCK_REALTIME, &clock);
    TRY(sethostname, "taken", 5);
    TRY(setdomainname, "taken", 5);
    TRY(vhangup, 0);
    must_be(known);
}

int main(int count, char **arguments)
{
    start();
    try_call(count > 1 ? arguments[1] : "");
    return held();
}
