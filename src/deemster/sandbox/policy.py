"""Which system calls a program has, built with libseccomp and exported as BPF.

Two filters stand over every program. The *floor* is loaded once, by the slot, and inherited: it knows what
the runner itself and any program may call, and answers the rest with ENOSYS. The program's own *profile* is loaded
before its execve: what it doesn't allow is handed to the run's init, which names the call and ends the run. The
floor answers by SECCOMP_RET_TRACE, the one refusal that ranks below a notice, so a call refused by both is named.
"""

import errno as errnos
import os
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import IO, Final

import pyseccomp

from deemster.domain.errors import Refused
from deemster.sandbox.command import Profile

BASE: Final = frozenset(
    """
    access alarm arch_prctl brk capget chdir chmod chown clock_getres clock_gettime clock_nanosleep
    close close_range copy_file_range creat dup dup2 dup3 epoll_create epoll_create1 epoll_ctl
    epoll_pwait epoll_pwait2 epoll_wait eventfd eventfd2 exit exit_group faccessat faccessat2
    fadvise64 fallocate fchdir fchmod fchmodat fchmodat2 fchown fchownat fcntl fdatasync fgetxattr
    flistxattr flock fork fstat fstatfs fsync ftruncate futex futex_requeue futex_wait futex_waitv
    futex_wake futimesat get_mempolicy get_robust_list getcpu getcwd getdents getdents64 getegid
    geteuid getgid getgroups getitimer getpgid getpgrp getpid getppid getpriority getrandom getresgid
    getresuid getrlimit getrusage getsid gettid gettimeofday getuid getxattr kill lchown lgetxattr
    link linkat listxattr llistxattr lseek lstat madvise map_shadow_stack membarrier memfd_create
    mincore mkdir mkdirat mknod mknodat mlock mlock2 mmap mprotect mremap mseal msync munlock
    munlockall munmap nanosleep newfstatat open openat openat2 pause pidfd_open pidfd_send_signal pipe
    pipe2 pkey_alloc pkey_free pkey_mprotect poll ppoll pread64 preadv preadv2 prlimit64 pselect6
    pwrite64 pwritev pwritev2 read readahead readlink readlinkat readv rename renameat renameat2
    restart_syscall rmdir rseq rt_sigaction rt_sigpending rt_sigprocmask rt_sigqueueinfo rt_sigreturn
    rt_sigsuspend rt_sigtimedwait rt_tgsigqueueinfo sched_get_priority_max sched_get_priority_min
    sched_getaffinity sched_getattr sched_getparam sched_getscheduler sched_rr_get_interval sched_yield
    select sendfile set_robust_list set_tid_address setfsgid setfsuid setgid setgroups setitimer
    setpgid setpriority setregid setresgid setresuid setreuid setrlimit setsid setuid sigaltstack
    signalfd signalfd4 splice stat statfs statx symlink symlinkat sync_file_range sysinfo tee tgkill
    time timer_create timer_delete timer_getoverrun timer_gettime timer_settime timerfd_create
    timerfd_gettime timerfd_settime times tkill truncate umask uname unlink unlinkat utime utimensat
    utimes vfork vmsplice wait4 waitid write writev
    """.split()
)
"""What any program of any language may call; the other layers bound what these can do."""

ERRNO: Final = {
    "clone3": "ENOSYS",  # its flags lie in memory, where a filter can't look: libc falls back to clone
    "sched_setaffinity": "EPERM",
    "sched_setattr": "EPERM",
    "sched_setparam": "EPERM",
    "sched_setscheduler": "EPERM",
    "ioprio_set": "EPERM",
    "mbind": "EPERM",
    "set_mempolicy": "EPERM",
}
"""Calls that programs make in good faith and do without."""

RUNNER: Final = frozenset(
    """
    capset clone clone3 execve execveat ioctl mount mount_setattr move_mount prctl recvfrom recvmsg
    sched_setaffinity seccomp sendmsg sendto socketpair umount2 unshare
    """.split()
)
"""What the slot's own processes call besides."""

CLONE_NEW: Final = 0x7E020000
"""All namespace flags that clone takes."""
TIOCSTI: Final = 0x5412
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
    *(41, 42, 47, 52, 53, 65, 66, 0x41555856, 0x53564D41, 0x59616D61),
)
"""Names, timer slack, parent-death signal, reading of flags; nothing that changes what a program may do."""


@dataclass(frozen=True, slots=True)
class Filters:
    """Seccomp programs as the runner takes them: the word that its own execve carries, then BPF."""

    floor: bytes
    profiles: tuple[bytes, ...]
    index: dict[str, int]


def build_filters(profiles: Sequence[Profile]) -> Filters:
    word = secrets.randbits(64) | 1
    head = word.to_bytes(8, "little")
    extra = frozenset[str]().union(*(profile.allow for profile in profiles))
    return Filters(
        floor=bytes(8) + _floor(extra),
        profiles=tuple(head + _profile(profile, word) for profile in profiles),
        index={profile.name: at for at, profile in enumerate(profiles)},
    )


def name_syscall(arch: int, number: int) -> str:
    """The name of a refused call; calls by another ABI than the machine's own carry that in front."""
    x32 = 0x40000000
    if arch == pyseccomp.system_arch():
        if number & x32:
            return f"x32:{_resolve(arch, number & ~x32)}"
        return _resolve(arch, number)
    return f"{_architecture(arch)}:{_resolve(arch, number)}"


def _resolve(arch: int, number: int) -> str:
    try:
        return pyseccomp.resolve_syscall(arch, number).decode()
    except OSError:
        return f"#{number}"


def _architecture(arch: int) -> str:
    names = {pyseccomp.Arch.X86: "i386", pyseccomp.Arch.ARM: "arm"}
    return names.get(arch, hex(arch))


def _floor(extra: Iterable[str]) -> bytes:
    policy = _policy(pyseccomp.TRACE(0))
    _allow(policy, BASE | RUNNER | frozenset(ERRNO) | frozenset(extra) | {"personality"})
    return _export(policy)


def _profile(profile: Profile, word: int) -> bytes:
    policy = _policy(pyseccomp.NOTIFY)
    errno = {**ERRNO, **profile.errno}
    _allow(policy, (BASE | profile.allow) - frozenset(errno))
    for name, error in errno.items():
        _add(policy, pyseccomp.ERRNO(_number(profile, error)), name)
    allow, equal = pyseccomp.ALLOW, pyseccomp.EQ
    _add(policy, allow, "clone", pyseccomp.Arg(0, pyseccomp.MASKED_EQ, CLONE_NEW, 0))
    _add(policy, allow, "ioctl", pyseccomp.Arg(1, pyseccomp.NE, TIOCSTI))
    for option in PRCTL_OPTIONS:
        _add(policy, allow, "prctl", pyseccomp.Arg(0, equal, option))
    for persona in PERSONALITIES:
        _add(policy, allow, "personality", pyseccomp.Arg(0, equal, persona))
    if profile.may_exec:
        _allow(policy, ("execve", "execveat"))
    else:
        # The runner's own execve, known by a word in a register that execve doesn't use and the kernel clears.
        _add(policy, allow, "execve", pyseccomp.Arg(3, equal, word))
    return _export(policy)


def _policy(default: int) -> pyseccomp.SyscallFilter:
    policy = pyseccomp.SyscallFilter(default)
    policy.set_attr(pyseccomp.Attr.ACT_BADARCH, default)
    policy.set_attr(
        pyseccomp.Attr.CTL_OPTIMIZE, 2
    )  # a binary tree loads in a quarter of the time
    return policy


def _allow(policy: pyseccomp.SyscallFilter, names: Iterable[str]) -> None:
    for name in sorted(names):
        _add(policy, pyseccomp.ALLOW, name)


def _add(policy: pyseccomp.SyscallFilter, action: int, name: str, *args: pyseccomp.Arg) -> None:
    try:
        policy.add_rule(action, name, *args)
    except OSError as error:
        # Not on this machine's architecture, or younger than this libseccomp: refused by default.
        if error.errno not in (errnos.EINVAL, errnos.EDOM, errnos.EFAULT):
            raise


def _number(profile: Profile, error: str) -> int:
    number = getattr(errnos, error, None)
    if not isinstance(number, int):
        raise Refused(f"Profile {profile.name!r} answers with the unknown error {error!r}.")
    return number


def _export(policy: pyseccomp.SyscallFilter) -> bytes:
    fd = os.memfd_create("filter", os.MFD_CLOEXEC)
    with os.fdopen(fd, "w+b", buffering=0) as file:
        policy.export_bpf(file)
        return _read_all(file)


def _read_all(file: IO[bytes]) -> bytes:
    file.seek(0)
    return file.read()
