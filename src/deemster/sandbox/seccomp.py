"""Builds the two seccomp filters of a slot, and the profile of each language.

A slot loads both filters once, and every run inherits them. The *notify filter* allows what
any program may call. It allows the runner's own calls if an unused register has the runner's
secret token. It passes every other call to the run's init, which looks it up in the program's
*profile*: allow, fail with an error, or (by default) report the call and end the run. The
*deny filter* holds whatever init answers: the kernel ends a process that makes a call that no
profile can allow. Its answers outrank a notification, so init never learns of these calls.
docs/adr/0003 has the reasons and the measurements.
"""

import errno as errnos
import os
import secrets
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

import pyseccomp

from deemster.domain.errors import Refused
from deemster.sandbox.command import Profile
from deemster.sandbox.system_calls import (
    AF_UNIX,
    ALLOWED_ARGUMENTS,
    BASE,
    CLOCK_CALLS,
    CLONE_NEW,
    ERRNO,
    FCNTL_LOCKS,
    IGNORED,
    MADVISE_IGNORED,
    MAP_HUGETLB,
    MFD_HUGETLB,
    MS_SYNC,
    NEVER,
    NEVER_ERRNO,
    OPEN_CALLS,
    OWN_CLOCKS,
    PROFILE_ERRNO,
    RUNNER,
    TMPFILE,
)

TOKEN_ARGUMENT: Final = 5
"""The sixth argument: none of the runner's calls uses it, and execve clears it."""
LOW_32_BITS: Final = 0xFFFFFFFF
STAND_IN: Final = secrets.randbits(63) | 1 << 62 | 1
"""Takes the place of the token in filters that are kept; each runner has a token of its own."""
INSTRUCTION: Final = struct.Struct("=HBBI")
PROFILE_CALLS: Final = 512
ALLOW: Final = 0xFFFF


@dataclass(frozen=True, slots=True)
class SeccompFilters:
    """The runner's input: two filters, with the token in front, and a table per profile."""

    deny_filter: bytes
    notify_filter: bytes
    profiles: tuple[bytes, ...]
    index: dict[str, int]


def build_filters(profiles: Sequence[Profile]) -> SeccompFilters:
    token = secrets.randbits(63) | 1
    head = struct.pack("=QQ", token, pyseccomp.system_arch())
    extra = frozenset[str]().union(*(profile.allow for profile in profiles))
    return SeccompFilters(
        deny_filter=head + _with_token(_build_deny_filter(extra), token),
        notify_filter=head + _with_token(_build_notify_filter(), token),
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


@cache
def _build_deny_filter(extra: frozenset[str]) -> bytes:
    """With `STAND_IN` as the token. `extra` are the calls that some profile allows."""
    token = STAND_IN
    kill, allow = pyseccomp.KILL_PROCESS, pyseccomp.ALLOW
    # The default ranks below a notification, so that init still learns of the call.
    rules = _new_filter(pyseccomp.TRACE(0), foreign_abi=kill)  # without a tracer: ENOSYS
    known = BASE | IGNORED | ERRNO.keys() | PROFILE_ERRNO.keys() | RUNNER | extra
    known |= OPEN_CALLS.keys() | {"msync"}
    by_argument = {"clone3", "clone", "socketpair", "sendto"}
    for name in sorted((known | {"execveat", "seccomp"}) - NEVER - by_argument):
        _add(rules, allow, name)
    for name in sorted(NEVER - RUNNER):
        _add(rules, kill, name)
    for name, error in NEVER_ERRNO.items():
        _add(rules, _errno(error), name)
    for name, action in (*((name, kill) for name in sorted(NEVER & RUNNER)), _NO_CLONE3):
        _add(rules, allow, name, pyseccomp.Arg(TOKEN_ARGUMENT, pyseccomp.EQ, token))
        _add(rules, action, name, pyseccomp.Arg(TOKEN_ARGUMENT, pyseccomp.NE, token))
    _add(rules, allow, "clone", pyseccomp.Arg(0, pyseccomp.MASKED_EQ, CLONE_NEW, 0))
    for flag in (1 << bit for bit in range(32) if CLONE_NEW & 1 << bit):
        _add(rules, kill, "clone", pyseccomp.Arg(0, pyseccomp.MASKED_EQ, flag, flag))
    _add(rules, allow, "socketpair", pyseccomp.Arg(0, pyseccomp.EQ, AF_UNIX))
    _add(rules, _errno("EAFNOSUPPORT"), "socketpair", pyseccomp.Arg(0, pyseccomp.NE, AF_UNIX))
    _add(rules, allow, "sendto", pyseccomp.Arg(4, pyseccomp.EQ, 0))  # without an address
    _add(rules, _errno("EPERM"), "sendto", pyseccomp.Arg(4, pyseccomp.NE, 0))
    return _export(rules)


def _errno(name: str) -> int:
    return int(pyseccomp.ERRNO(getattr(errnos, name)))


_NO_CLONE3: Final = ("clone3", _errno("ENOSYS"))
"""A filter can't read the flags of clone3, which are in memory; libc falls back to clone."""


def _with_token(template: bytes, token: int) -> bytes:
    """A filter takes libseccomp milliseconds, so each is built once for all runners. A filter
    compares the halves of an argument with constants.
    """
    halves = {STAND_IN >> 32: token >> 32, STAND_IN & LOW_32_BITS: token & LOW_32_BITS}
    return b"".join(
        INSTRUCTION.pack(code, *jumps, halves.get(constant, constant))
        for code, *jumps, constant in INSTRUCTION.iter_unpack(template)
    )


def _new_filter(default: int, *, foreign_abi: int | None = None) -> pyseccomp.SyscallFilter:
    rules = pyseccomp.SyscallFilter(default)
    rules.set_attr(pyseccomp.Attr.ACT_BADARCH, default if foreign_abi is None else foreign_abi)
    rules.set_attr(pyseccomp.Attr.CTL_OPTIMIZE, 2)  # a binary tree, not a list
    return rules


@cache
def _build_notify_filter() -> bytes:
    """With `STAND_IN` as the token."""
    token = STAND_IN
    rules = _new_filter(pyseccomp.NOTIFY)
    allow = pyseccomp.ALLOW
    for name in sorted(BASE):
        _add(rules, allow, name)
    for name in sorted(IGNORED):
        _add(rules, pyseccomp.ERRNO(0), name)
    for name, error in ERRNO.items():
        _add(rules, _errno(error), name)
    for name in sorted(RUNNER | {"clone3"}):
        _add(rules, allow, name, pyseccomp.Arg(TOKEN_ARGUMENT, pyseccomp.EQ, token))
    _add(rules, allow, "clone", pyseccomp.Arg(0, pyseccomp.MASKED_EQ, CLONE_NEW, 0))
    _add(rules, allow, "mmap", pyseccomp.Arg(3, pyseccomp.MASKED_EQ, MAP_HUGETLB, 0))
    _add(rules, allow, "memfd_create", pyseccomp.Arg(1, pyseccomp.MASKED_EQ, MFD_HUGETLB, 0))
    # Only PRIO_PROCESS and 0, the caller itself: without root its init has the same uid.
    _add(rules, allow, "setpriority", _low(0, 0), _low(1, 0))
    for name, argument in OPEN_CALLS.items():
        _add_by_flag(rules, name, argument, TMPFILE, _errno("EOPNOTSUPP"))
    _add_by_flag(rules, "msync", 2, MS_SYNC, pyseccomp.ERRNO(0))
    _add_by_argument(rules)
    return _export(rules)


def _add_by_argument(rules: pyseccomp.SyscallFilter) -> None:
    """Adds the calls whose answer depends on the value of one argument."""
    for name, argument, values in ALLOWED_ARGUMENTS:
        for value in values:
            _add(rules, pyseccomp.ALLOW, name, _low(argument, value))
    for name in CLOCK_CALLS:
        for mask, value in OWN_CLOCKS:
            clock = pyseccomp.Arg(0, pyseccomp.MASKED_EQ, mask, value)
            _add(rules, pyseccomp.ALLOW, name, clock)
    for command in FCNTL_LOCKS:
        _add(rules, _errno("ENOLCK"), "fcntl", _low(1, command))
    for advice in MADVISE_IGNORED:
        _add(rules, pyseccomp.ERRNO(0), "madvise", _low(2, advice))


def _add_by_flag(
    rules: pyseccomp.SyscallFilter, name: str, argument: int, flag: int, answer: int
) -> None:
    """Allows a call without the flag, and gives this answer to one with it."""
    without = pyseccomp.Arg(argument, pyseccomp.MASKED_EQ, flag, 0)
    _add(rules, pyseccomp.ALLOW, name, without)
    _add(rules, answer, name, pyseccomp.Arg(argument, pyseccomp.MASKED_EQ, flag, flag))


def _low(argument: int, value: int) -> pyseccomp.Arg:
    """Compares the low half of an argument: of an int the kernel reads no more."""
    return pyseccomp.Arg(argument, pyseccomp.MASKED_EQ, LOW_32_BITS, value)


def _build_profile(profile: Profile) -> bytes:
    answers = [0] * PROFILE_CALLS
    exec_calls = ("execve", "execveat") if profile.may_exec else ()
    errors = {name: error for name, error in PROFILE_ERRNO.items() if name not in profile.allow}
    for name in (*profile.allow, *exec_calls):
        answers[_number(profile, name)] = ALLOW
    for name, error in {**errors, **profile.errno}.items():
        value = getattr(errnos, error, None)
        if not isinstance(value, int):
            raise Refused(f"Profile {profile.name!r} names the unknown error {error!r}.")
        answers[_number(profile, name)] = value
    return struct.pack(f"={PROFILE_CALLS}H", *answers)


def _number(profile: Profile, name: str) -> int:
    number = _native_number(name)
    if not 0 <= number < PROFILE_CALLS:
        raise Refused(f"Profile {profile.name!r} names the unknown system call {name!r}.")
    if name in BASE:
        raise Refused(
            f"Profile {profile.name!r} names the call {name!r}, which every program may make."
        )
    if name in NEVER | NEVER_ERRNO.keys():
        raise Refused(
            f"Profile {profile.name!r} names the call {name!r}, which no program may make."
        )
    return number


@cache
def _native_number(name: str) -> int:
    return int(pyseccomp.resolve_syscall(pyseccomp.Arch.NATIVE, name))


def _add(rules: pyseccomp.SyscallFilter, action: int, name: str, *args: pyseccomp.Arg) -> None:
    try:
        rules.add_rule(action, name, *args)
    except OSError as error:
        # Unknown to this architecture or this libseccomp: the default refuses it.
        if error.errno not in (errnos.EINVAL, errnos.EDOM, errnos.EFAULT):
            raise


def _export(rules: pyseccomp.SyscallFilter) -> bytes:
    fd = os.memfd_create("filter", os.MFD_CLOEXEC)
    with os.fdopen(fd, "w+b", buffering=0) as file:
        rules.export_bpf(file)
        file.seek(0)
        return file.read()
