"""Lists what programs may call, what fails with an error, and what no profile can allow.

A program that makes any other call is ended, and the report names the call.
"""

from typing import Final

BASE: Final = frozenset(
    """
    access alarm arch_prctl brk capget chdir chmod chown clock_getres close close_range
    copy_file_range creat dup dup2 dup3 epoll_create epoll_create1 epoll_ctl epoll_pwait
    epoll_pwait2 epoll_wait eventfd eventfd2 exit exit_group faccessat faccessat2 fallocate
    fchdir fchmod fchmodat fchmodat2 fchown fchownat fgetxattr flistxattr fork fstat fstatfs
    ftruncate futex futex_requeue futex_wait futex_waitv futex_wake futimesat get_mempolicy
    get_robust_list getcpu getcwd getdents getdents64 getegid geteuid getgid getgroups
    getitimer getpgid getpgrp getpid getppid getpriority getrandom getresgid getresuid
    getrlimit getrusage getsid gettid gettimeofday getuid getxattr kill lchown lgetxattr
    link linkat listxattr llistxattr lseek lstat map_shadow_stack membarrier mkdir mkdirat
    mknod mknodat mlock mlock2 mprotect mremap mseal munlock munlockall munmap nanosleep
    newfstatat pause pidfd_open pidfd_send_signal pipe pipe2 pkey_alloc pkey_free
    pkey_mprotect poll ppoll pread64 preadv pselect6 pwrite64 pwritev read readlink
    readlinkat readv rename renameat renameat2 restart_syscall rmdir rseq rt_sigaction
    rt_sigpending rt_sigprocmask rt_sigqueueinfo rt_sigreturn rt_sigsuspend rt_sigtimedwait
    rt_tgsigqueueinfo sched_get_priority_max sched_get_priority_min sched_getaffinity
    sched_getattr sched_getparam sched_getscheduler sched_rr_get_interval sched_yield select
    sendfile set_robust_list set_tid_address setfsgid setfsuid setgid setgroups setitimer
    setpgid setregid setresgid setresuid setreuid setrlimit setsid setuid sigaltstack
    signalfd signalfd4 stat statfs statx symlink symlinkat sysinfo tgkill time timer_delete
    timer_getoverrun timer_gettime timer_settime timerfd_create timerfd_gettime
    timerfd_settime times tkill truncate umask uname unlink unlinkat utime utimensat utimes
    vfork wait4 waitid write writev
    """.split()
)
"""Every program may make these calls; the other layers limit what they can do."""

IGNORED: Final = frozenset({"fadvise64", "fdatasync", "fsync", "readahead", "sync_file_range"})
"""Calls that return 0 and do nothing: advice about the page cache, which all boxes share, and
orders to write files to their disk. The scratch has no disk; on a file of the root these would
empty the buffers of the disk that the database uses, as often as a program likes."""

ERRNO: Final = {
    "sched_setaffinity": "EPERM",
    "sched_setattr": "EPERM",
    "sched_setparam": "EPERM",
    "sched_setscheduler": "EPERM",
    "ioprio_set": "EPERM",
    "mbind": "EPERM",
    "set_mempolicy": "EPERM",
    # It tells which pages of a file are in memory. libunwind, which tries it, uses msync then.
    "mincore": "ENOSYS",
    # A filter can't read its flags, which are in memory.
    "openat2": "ENOSYS",
}
"""Harmless calls that programs try and can do without."""

PROFILE_ERRNO: Final = {
    # No memory limit counts locks, and a lock on a file of the root would reach other boxes.
    "flock": "ENOLCK",
    # Runtimes that try to copy with them use read and write after this error.
    "splice": "EINVAL",
    "tee": "EINVAL",
    "vmsplice": "EINVAL",
    # Calls that the notify filter allows only with certain arguments.
    "clock_gettime": "EINVAL",
    "clock_nanosleep": "EINVAL",
    "fcntl": "EINVAL",
    "ioctl": "EPERM",
    "madvise": "EINVAL",
    "memfd_create": "EINVAL",
    "mmap": "ENOMEM",
    "personality": "EPERM",
    "prctl": "EPERM",
    "preadv2": "EOPNOTSUPP",
    "prlimit64": "EPERM",
    "pwritev2": "EOPNOTSUPP",
    "setpriority": "EPERM",
    "timer_create": "EINVAL",
}
"""Errors of calls that a profile may allow, or give another error."""

RUNNER: Final = frozenset(
    """
    capset execve ioctl mount move_mount msgctl recvmsg semctl sendmsg shmctl umount2 unshare
    """.split()
)
"""Calls of the runner's own processes, which need the token."""

NEVER: Final = frozenset(
    """
    _sysctl acct add_key adjtimex bpf clock_adjtime clock_settime create_module
    delete_module fanotify_init fanotify_mark finit_module fsconfig fsmount fsopen fspick
    get_kernel_syms init_module io_uring_enter io_uring_register ioperm iopl kcmp
    kexec_file_load kexec_load keyctl lookup_dcookie memfd_secret migrate_pages modify_ldt
    mount mount_setattr move_mount move_pages name_to_handle_at nfsservctl open_by_handle_at
    open_tree perf_event_open pidfd_getfd pivot_root process_madvise process_mrelease
    process_vm_readv process_vm_writev ptrace query_module quotactl quotactl_fd reboot
    remap_file_pages request_key set_mempolicy_home_node setns settimeofday stime swapoff
    swapon syslog umount2 unshare uselib userfaultfd vm86 vm86old
    """.split()
)
"""Calls that no profile can allow: with them a program would act on the kernel, on mounts and
namespaces, or on other processes. The kernel ends a process that makes one. The runner makes
those that are also in RUNNER with its token."""
NEVER_ERRNO: Final = {"io_uring_setup": "ENOSYS"}
"""Calls that no profile can allow either, but that runtimes try first."""

AF_UNIX: Final = 1
"""The only family of a socketpair that a profile can allow."""

MAP_HUGETLB: Final = 0x40000
MFD_HUGETLB: Final = 0x4
"""No memory limit counts huge pages."""

TMPFILE: Final = 0x400000
"""The flag of open for a file without a name, which leaves the directory as it was: the box
would not be cleaned, and the numbers of later files would tell how many there have been."""
OPEN_CALLS: Final = {"open": 1, "openat": 2}
"""The calls with that flag, and the place of the argument."""

MS_SYNC: Final = 0x4
"""The flag of msync that writes a file to its disk."""

CLONE_NEW: Final = 0x7E020000
"""All namespace flags of clone."""

FCNTL_COMMANDS: Final = (
    *(0, 1, 2, 3, 4, 1030),  # F_DUPFD, F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_DUPFD_CLOEXEC
    *(1032, 1033, 1034),  # F_GETPIPE_SZ, F_ADD_SEALS, F_GET_SEALS
)
"""None that makes a lease (F_SETLEASE), watches a directory (F_NOTIFY), or enlarges a pipe."""
FCNTL_LOCKS: Final = (5, 6, 7, 36, 37, 38)
"""F_GETLK, F_SETLK, F_SETLKW and their F_OFD_ variants: no limit counts the kernel's memory for
byte-range locks, so they fail with ENOLCK."""

MADVISE_ADVICE: Final = (*range(5), *range(8, 12), *range(14, 20), 22, 23, 24, 102, 103)
"""All but MADV_COLLAPSE, which replaces pages that other boxes use, MADV_MERGEABLE, which tells
whether another process has a page with the same content, and those for root."""
MADVISE_IGNORED: Final = (20, 21)
"""MADV_COLD, MADV_PAGEOUT: they can remove pages of shared files from memory."""

IOCTL_REQUESTS: Final = (
    *(0x5401, 0x802C542A, 0x5413, 0x540F),  # TCGETS, TCGETS2, TIOCGWINSZ, TIOCGPGRP
    *(0x541B, 0x5421, 0x5450, 0x5451, 0x5452),  # FIONREAD, FIONBIO, FIONCLEX, FIOCLEX, FIOASYNC
    *(0x5402, 0x5403, 0x5404),  # TCSETS, TCSETSW, TCSETSF
    *(0x402C542B, 0x402C542C, 0x402C542D),  # TCSETS2, TCSETSW2, TCSETSF2
    *(0x5409, 0x540A, 0x540B, 0x5411),  # TCSBRK, TCXONC, TCFLSH, TIOCOUTQ
    *(0x5410, 0x5429),  # TIOCSPGRP, TIOCGSID
)
"""Requests about pipes and files, and those with which a program uses its own terminal: modes,
buffers, job control. None that types into a terminal (TIOCSTI), takes one (TIOCSCTTY,
TIOCNOTTY, TIOCEXCL, TIOCCONS), changes its line discipline (TIOCSETD) or controls a device."""
CLOCK_CALLS: Final = ("clock_gettime", "clock_nanosleep", "timer_create")
OWN_CLOCKS: Final = (
    (0x80000000, 0),  # clocks with a name, such as CLOCK_MONOTONIC
    (0x80000004, 0x80000004),  # of threads; the kernel knows those of the caller's process only
    *((0xFFFFFFFC, ~pid << 3 & 0xFFFFFFFF) for pid in (0, 2)),  # of the caller; of the program
)
"""Mask and value of the clock ids that every program may use. The others are clocks of the CPU
time of other processes, which anybody may read. That of an init counts on from run to run, and
a run can add to it as much as it likes, by calls that init answers."""
PERSONALITIES: Final = (0x0, 0xFFFFFFFF)
PRCTL_OPTIONS: Final = (
    *(*range(1, 8), *range(13, 17), 19, 20, 21, 23, 25, 26, 27, 29, 30, *range(36, 43)),
    *(47, 52, 65, 66, 0x41555856, 0x53564D41),
)
"""Names, timer slack and flags to read; nothing that changes what a program may do, loads a
filter (PR_SET_SECCOMP) or switches a mitigation off (PR_SET_SPECULATION_CTRL)."""

ALLOWED_ARGUMENTS: Final[tuple[tuple[str, int, tuple[int, ...]], ...]] = (
    ("fcntl", 1, FCNTL_COMMANDS),
    ("ioctl", 1, IOCTL_REQUESTS),
    ("madvise", 2, MADVISE_ADVICE),
    ("personality", 0, PERSONALITIES),
    ("prctl", 0, PRCTL_OPTIONS),
    # Flags could ask whether data is in memory (RWF_NOWAIT) or remove it (RWF_DONTCACHE).
    ("preadv2", 5, (0,)),
    ("pwritev2", 5, (0,)),
    # A program may change only itself: without root its init has the same uid.
    ("prlimit64", 0, (0,)),
)
"""Calls that every program may make with these values of one argument, counted from 0."""
