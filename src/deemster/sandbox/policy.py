"""Builds the two seccomp filters of a slot, and the profile of each language.

A slot loads both filters once, and every run inherits them. The *notify filter* allows what
any program may call. It allows the runner's own calls if an unused register has the runner's
secret token. It passes every other call to the run's init, which looks it up in the program's
*profile*: allow, fail with an error, or (by default) report the call and end the run. The
*deny filter* refuses what neither the runner nor any profile needs, whatever init answers. It
uses SECCOMP_RET_TRACE, which ranks below a notification, so that init still learns the call.
docs/adr/0003 has the measurements.
"""

import errno as errnos
import os
import secrets
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

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
"""Every program may make these calls; the other layers limit what they can do."""

ERRNO: Final = {
    "sched_setaffinity": "EPERM",
    "sched_setattr": "EPERM",
    "sched_setparam": "EPERM",
    "sched_setscheduler": "EPERM",
    "ioprio_set": "EPERM",
    "mbind": "EPERM",
    "set_mempolicy": "EPERM",
}
"""Harmless calls that programs try and can do without."""

MAP_HUGETLB: Final = 0x40000
MFD_HUGETLB: Final = 0x4
"""No memory limit counts huge pages."""

ERRNO_BY_ARGUMENT: Final = {
    "ioctl": "EPERM",
    "memfd_create": "EINVAL",
    "mmap": "ENOMEM",
    "personality": "EPERM",
    "prctl": "EPERM",
    "prlimit64": "EPERM",
    "setpriority": "EPERM",
}
"""Errors for calls that the notify filter allows only with certain arguments."""

RUNNER: Final = frozenset(
    """
    capset execve ioctl mount move_mount msgctl recvmsg semctl sendmsg shmctl umount2 unshare
    """.split()
)
"""Calls of the runner's own processes, which need the token."""
TOKEN_ARGUMENT: Final = 5
"""The sixth argument: none of these calls uses it, and execve clears it."""

CLONE_NEW: Final = 0x7E020000
"""All namespace flags of clone."""
LOW_32_BITS: Final = 0xFFFFFFFF
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
PERSONALITIES: Final = (0x0, 0xFFFFFFFF)
PRCTL_OPTIONS: Final = (
    *(*range(1, 8), *range(13, 17), *range(19, 24), 25, 26, 27, 29, 30, *range(36, 43)),
    *(47, 52, 53, 65, 66, 0x41555856, 0x53564D41),
)
"""Names, timer slack and flags to read; nothing that changes what a program may do."""

PROFILE_CALLS: Final = 512
ALLOW: Final = 0xFFFF


@dataclass(frozen=True, slots=True)
class Policy:
    """The runner's input: two filters, with the token in front, and a table per profile."""

    deny_filter: bytes
    notify_filter: bytes
    profiles: tuple[bytes, ...]
    index: dict[str, int]


def build_policy(profiles: Sequence[Profile]) -> Policy:
    token = secrets.randbits(63) | 1
    head = struct.pack("=QQ", token, pyseccomp.system_arch())
    return Policy(
        deny_filter=head + _build_deny_filter(profiles),
        notify_filter=head + _build_notify_filter(token),
        profiles=tuple(_build_profile(profile) for profile in profiles),
        index={profile.name: at for at, profile in enumerate(profiles)},
    )


def name_syscall(arch: int, number: int) -> str:
    """Returns a call's name, with the ABI in front unless it is the native one."""
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


def _build_deny_filter(profiles: Sequence[Profile]) -> bytes:
    policy = _new_filter(pyseccomp.TRACE(0))  # without a tracer: ENOSYS
    extra = frozenset[str]().union(*(profile.allow for profile in profiles))
    masked = {"clone", "clone3", "execveat", "seccomp", *ERRNO_BY_ARGUMENT}
    for name in sorted(BASE | ERRNO.keys() | RUNNER | masked | extra):
        _add(policy, pyseccomp.ALLOW, name)
    return _export(policy)


def _new_filter(default: int) -> pyseccomp.SyscallFilter:
    policy = pyseccomp.SyscallFilter(default)
    policy.set_attr(pyseccomp.Attr.ACT_BADARCH, default)
    policy.set_attr(pyseccomp.Attr.CTL_OPTIMIZE, 2)  # a binary tree, not a list
    return policy


def _build_notify_filter(token: int) -> bytes:
    policy = _new_filter(pyseccomp.NOTIFY)
    allow, equal = pyseccomp.ALLOW, pyseccomp.EQ
    for name in sorted(BASE):
        _add(policy, allow, name)
    for name, error in ERRNO.items():
        _add(policy, pyseccomp.ERRNO(getattr(errnos, error)), name)
    for name in sorted(RUNNER):
        _add(policy, allow, name, pyseccomp.Arg(TOKEN_ARGUMENT, equal, token))
    # A filter can't read its flags, which are in memory; libc falls back to clone.
    _add(policy, allow, "clone3", pyseccomp.Arg(TOKEN_ARGUMENT, equal, token))
    enosys = pyseccomp.ERRNO(errnos.ENOSYS)
    _add(policy, enosys, "clone3", pyseccomp.Arg(TOKEN_ARGUMENT, pyseccomp.NE, token))
    _add(policy, allow, "clone", pyseccomp.Arg(0, pyseccomp.MASKED_EQ, CLONE_NEW, 0))
    _add(policy, allow, "mmap", pyseccomp.Arg(3, pyseccomp.MASKED_EQ, MAP_HUGETLB, 0))
    _add(policy, allow, "memfd_create", pyseccomp.Arg(1, pyseccomp.MASKED_EQ, MFD_HUGETLB, 0))
    # A program may change only itself: without root its init has the same uid.
    itself = pyseccomp.Arg(0, pyseccomp.MASKED_EQ, LOW_32_BITS, 0)
    _add(policy, allow, "prlimit64", itself)
    itself = pyseccomp.Arg(1, pyseccomp.MASKED_EQ, LOW_32_BITS, 0)
    _add(policy, allow, "setpriority", itself)
    for request in IOCTL_REQUESTS:  # the kernel reads only the low half
        low = pyseccomp.Arg(1, pyseccomp.MASKED_EQ, LOW_32_BITS, request)
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
    for name, error in {**ERRNO_BY_ARGUMENT, **profile.errno}.items():
        value = getattr(errnos, error, None)
        if not isinstance(value, int):
            raise Refused(f"Profile {profile.name!r} names the unknown error {error!r}.")
        answers[_number(profile, name)] = value
    return struct.pack(f"={PROFILE_CALLS}H", *answers)


def _number(profile: Profile, name: str) -> int:
    number = int(pyseccomp.resolve_syscall(pyseccomp.Arch.NATIVE, name))
    if not 0 <= number < PROFILE_CALLS:
        raise Refused(f"Profile {profile.name!r} names the unknown system call {name!r}.")
    if name in BASE:
        raise Refused(
            f"Profile {profile.name!r} names the call {name!r}, which every program may make."
        )
    return number


def _add(policy: pyseccomp.SyscallFilter, action: int, name: str, *args: pyseccomp.Arg) -> None:
    try:
        policy.add_rule(action, name, *args)
    except OSError as error:
        # Unknown to this architecture or this libseccomp: the default refuses it.
        if error.errno not in (errnos.EINVAL, errnos.EDOM, errnos.EFAULT):
            raise


def _export(policy: pyseccomp.SyscallFilter) -> bytes:
    fd = os.memfd_create("filter", os.MFD_CLOEXEC)
    with os.fdopen(fd, "w+b", buffering=0) as file:
        policy.export_bpf(file)
        file.seek(0)
        return file.read()
