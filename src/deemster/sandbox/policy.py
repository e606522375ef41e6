"""Which system calls a program has: two filters for all, and a profile a language.

The filters are built with libseccomp and loaded once, when a slot is made; every run inherits
them. The *filter* lets pass what any program may call. What only the runner's own processes
call passes with the slot's secret word in a register that the call does not use. All else is
handed to the run's init, which looks it up in the program's *profile*: go on, answer with an
error, or (by default) name the call and end the run. Below it, the *floor* refuses what
neither the runner nor any profile needs, whatever init would answer. It refuses by
SECCOMP_RET_TRACE, the one refusal that ranks below a notice, so that such a call is still
named. docs/adr/0003 has the measurements.
"""

import errno as errnos
import os
import secrets
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import IO, Final

import pyseccomp

from deemster.domain.errors import Refused
from deemster.sandbox.command import Profile

BASE: Final = frozenset(
    """
    access alarm arch_prctl brk capget chdir chmod chown clock_getres clock_gettime
    clock_nanosleep close close_range copy_file_range creat dup dup2 dup3 epoll_create
    epoll_create1 epoll_ctl epoll_pwait epoll_pwait2 epoll_wait eventfd eventfd2 exit
    exit_group faccessat faccessat2 fadvise64 fallocate fchdir fchmod fchmodat fchmodat2
    fchown fchownat fcntl fdatasync fgetxattr flistxattr flock fork fstat fstatfs fsync
    ftruncate futex futex_requeue futex_wait futex_waitv futex_wake futimesat get_mempolicy
    get_robust_list getcpu getcwd getdents getdents64 getegid geteuid getgid getgroups
    getitimer getpgid getpgrp getpid getppid getpriority getrandom getresgid getresuid
    getrlimit getrusage getsid gettid gettimeofday getuid getxattr kill lchown lgetxattr
    link linkat listxattr llistxattr lseek lstat madvise map_shadow_stack membarrier
    mincore mkdir mkdirat mknod mknodat mlock mlock2 mprotect mremap mseal
    msync munlock munlockall munmap nanosleep newfstatat open openat openat2 pause
    pidfd_open pidfd_send_signal pipe pipe2 pkey_alloc pkey_free pkey_mprotect poll ppoll
    pread64 preadv preadv2 pselect6 pwrite64 pwritev pwritev2 read readahead
    readlink readlinkat readv rename renameat renameat2 restart_syscall rmdir rseq
    rt_sigaction rt_sigpending rt_sigprocmask rt_sigqueueinfo rt_sigreturn rt_sigsuspend
    rt_sigtimedwait rt_tgsigqueueinfo sched_get_priority_max sched_get_priority_min
    sched_getaffinity sched_getattr sched_getparam sched_getscheduler sched_rr_get_interval
    sched_yield select sendfile set_robust_list set_tid_address setfsgid setfsuid setgid
    setgroups setitimer setpgid setregid setresgid setresuid setreuid setrlimit
    setsid setuid sigaltstack signalfd signalfd4 splice stat statfs statx symlink symlinkat
    sync_file_range sysinfo tee tgkill time timer_create timer_delete timer_getoverrun
    timer_gettime timer_settime timerfd_create timerfd_gettime timerfd_settime times tkill
    truncate umask uname unlink unlinkat utime utimensat utimes vfork vmsplice wait4 waitid
    write writev
    """.split()
)
"""What any program of any language may call; the other layers bound what these can do."""

ERRNO: Final = {
    "sched_setaffinity": "EPERM",
    "sched_setattr": "EPERM",
    "sched_setparam": "EPERM",
    "sched_setscheduler": "EPERM",
    "ioprio_set": "EPERM",
    "mbind": "EPERM",
    "set_mempolicy": "EPERM",
}
"""Calls that programs make in good faith and do without."""

MAP_HUGETLB: Final = 0x40000
MFD_HUGETLB: Final = 0x4
"""Huge pages are counted by no memory limit."""

POLITE: Final = {
    "ioctl": "EPERM",
    "memfd_create": "EINVAL",
    "mmap": "ENOMEM",
    "personality": "EPERM",
    "prctl": "EPERM",
    "prlimit64": "EPERM",
    "setpriority": "EPERM",
}
"""What a profile answers when one of these is handed over for its argument."""

RUNNER: Final = frozenset(
    """
    capset execve ioctl mount move_mount msgctl recvmsg semctl sendmsg shmctl umount2 unshare
    """.split()
)
"""What the runner's own processes call besides, with the word."""
WORD_ARGUMENT: Final = 5
"""The sixth: none of them uses it, and execve clears it."""

CLONE_NEW: Final = 0x7E020000
"""All namespace flags that clone takes."""
LOW_WORD: Final = 0xFFFFFFFF
IOCTL_REQUESTS: Final = (
    *(
        0x5401,
        0x802C542A,
        0x5413,
        0x540F,
        0x541B,
    ),  # TCGETS, TCGETS2, TIOCGWINSZ, TIOCGPGRP, FIONREAD
    *(0x5421, 0x5450, 0x5451, 0x5452),  # FIONBIO, FIONCLEX, FIOCLEX, FIOASYNC
)
"""What programs ask of pipes and files; nothing that steers a terminal or a device."""
PERSONALITIES: Final = (0x0, 0xFFFFFFFF)
PRCTL_OPTIONS: Final = (
    *(
        1,
        2,
        3,
        4,
        5,
        6,
        7,
        13,
        14,
        15,
        16,
        19,
        20,
        21,
        22,
        23,
        25,
        26,
        27,
        29,
        30,
        36,
        37,
        38,
        39,
        40,
    ),
    *(41, 42, 47, 52, 53, 65, 66, 0x41555856, 0x53564D41),
)
"""Names, timer slack, reading of flags; nothing that changes what a program may do."""


PROFILE_CALLS: Final = 512
ALLOW: Final = 0xFFFF


@dataclass(frozen=True, slots=True)
class Policy:
    """What the runner takes: two filters, the slot's word, and a table of answers a profile."""

    floor: bytes
    filter: bytes
    profiles: tuple[bytes, ...]
    index: dict[str, int]


def build_policy(profiles: Sequence[Profile]) -> Policy:
    word = secrets.randbits(63) | 1
    head = struct.pack("=QQ", word, pyseccomp.system_arch())
    return Policy(
        floor=head + _build_floor(profiles),
        filter=head + _build_filter(word),
        profiles=tuple(_build_profile(profile) for profile in profiles),
        index={profile.name: at for at, profile in enumerate(profiles)},
    )


def name_syscall(arch: int, number: int) -> str:
    """The name of a refused call; one by a foreign ABI carries that in front."""
    x32 = 0x40000000
    if arch == pyseccomp.system_arch():
        if number > 0 and number & x32:
            return f"x32:{_resolve(arch, number & ~x32)}"
        return _resolve(arch, number)
    return f"{_architecture(arch)}:{_resolve(arch, number)}"


def _resolve(arch: int, number: int) -> str:
    try:
        return str(pyseccomp.resolve_syscall(arch, number), "ascii")
    except (OSError, ValueError):
        return f"#{number}"


def _architecture(arch: int) -> str:
    names = {pyseccomp.Arch.X86: "i386", pyseccomp.Arch.ARM: "arm"}
    return names.get(arch, hex(arch))


def _build_floor(profiles: Sequence[Profile]) -> bytes:
    policy = _new_filter(pyseccomp.TRACE(0))  # no tracer: ENOSYS
    extra = frozenset[str]().union(*(profile.allow for profile in profiles))
    masked = {"clone", "clone3", "execveat", "seccomp", *POLITE}
    for name in sorted(BASE | ERRNO.keys() | RUNNER | masked | extra):
        _add(policy, pyseccomp.ALLOW, name)
    return _export(policy)


def _new_filter(default: int) -> pyseccomp.SyscallFilter:
    policy = pyseccomp.SyscallFilter(default)
    policy.set_attr(pyseccomp.Attr.ACT_BADARCH, default)
    policy.set_attr(pyseccomp.Attr.CTL_OPTIMIZE, 2)  # a binary tree, not a list
    return policy


def _build_filter(word: int) -> bytes:
    policy = _new_filter(pyseccomp.NOTIFY)
    allow, equal = pyseccomp.ALLOW, pyseccomp.EQ
    for name in sorted(BASE):
        _add(policy, allow, name)
    for name, error in ERRNO.items():
        _add(policy, pyseccomp.ERRNO(getattr(errnos, error)), name)
    for name in sorted(RUNNER):
        _add(policy, allow, name, pyseccomp.Arg(WORD_ARGUMENT, equal, word))
    # Its flags lie in memory, where a filter can't look: libc falls back to clone.
    _add(policy, allow, "clone3", pyseccomp.Arg(WORD_ARGUMENT, equal, word))
    enosys = pyseccomp.ERRNO(errnos.ENOSYS)
    _add(policy, enosys, "clone3", pyseccomp.Arg(WORD_ARGUMENT, pyseccomp.NE, word))
    _add(policy, allow, "clone", pyseccomp.Arg(0, pyseccomp.MASKED_EQ, CLONE_NEW, 0))
    _add(policy, allow, "mmap", pyseccomp.Arg(3, pyseccomp.MASKED_EQ, MAP_HUGETLB, 0))
    _add(policy, allow, "memfd_create", pyseccomp.Arg(1, pyseccomp.MASKED_EQ, MFD_HUGETLB, 0))
    # Of itself only: without root its init has the same id.
    itself = pyseccomp.Arg(0, pyseccomp.MASKED_EQ, LOW_WORD, 0)
    _add(policy, allow, "prlimit64", itself)
    itself = pyseccomp.Arg(1, pyseccomp.MASKED_EQ, LOW_WORD, 0)
    _add(policy, allow, "setpriority", itself)
    for request in IOCTL_REQUESTS:  # the kernel looks at the low half only
        low = pyseccomp.Arg(1, pyseccomp.MASKED_EQ, LOW_WORD, request)
        _add(policy, allow, "ioctl", low)
    for option in PRCTL_OPTIONS:
        _add(policy, allow, "prctl", pyseccomp.Arg(0, equal, option))
    for persona in PERSONALITIES:
        _add(policy, allow, "personality", pyseccomp.Arg(0, equal, persona))
    return _export(policy)


def _build_profile(profile: Profile) -> bytes:
    answers = [0] * PROFILE_CALLS
    exec_calls = ("execve", "execveat") if profile.may_exec else ()
    for name in (*profile.allow, *exec_calls):
        answers[_number(profile, name)] = ALLOW
    for name, error in {**POLITE, **profile.errno}.items():
        value = getattr(errnos, error, None)
        if not isinstance(value, int):
            raise Refused(f"Profile {profile.name!r} answers with the unknown error {error!r}.")
        answers[_number(profile, name)] = value
    return struct.pack(f"={PROFILE_CALLS}H", *answers)


def _number(profile: Profile, name: str) -> int:
    number = int(pyseccomp.resolve_syscall(pyseccomp.Arch.NATIVE, name))
    if not 0 <= number < PROFILE_CALLS:
        raise Refused(f"Profile {profile.name!r} names the unknown system call {name!r}.")
    if name in BASE:
        raise Refused(f"Profile {profile.name!r} names {name!r}, which every program has.")
    return number


def _add(policy: pyseccomp.SyscallFilter, action: int, name: str, *args: pyseccomp.Arg) -> None:
    try:
        policy.add_rule(action, name, *args)
    except OSError as error:
        # Not on this architecture, or younger than this libseccomp: refused by default.
        if error.errno not in (errnos.EINVAL, errnos.EDOM, errnos.EFAULT):
            raise


def _export(policy: pyseccomp.SyscallFilter) -> bytes:
    fd = os.memfd_create("filter", os.MFD_CLOEXEC)
    with os.fdopen(fd, "w+b", buffering=0) as file:
        policy.export_bpf(file)
        return _read_all(file)


def _read_all(file: IO[bytes]) -> bytes:
    file.seek(0)
    return file.read()
