"""X4: each seccomp filter works without the other, and profiles are checked."""

import errno
import signal
import socket
import struct
from dataclasses import replace

import pyseccomp
import pytest

from deemster.domain.errors import Refused
from deemster.domain.run_status import RunStatus
from deemster.sandbox import seccomp
from deemster.sandbox.boxes import Boxes
from deemster.sandbox.command import Command, Profile
from tests.sandbox.conftest import PATIENT, RUNNER

CALL = (
    "import ctypes, sys; libc = ctypes.CDLL(None, use_errno=True); "
    "arguments = [ctypes.c_long(int(word)) for word in sys.argv[2:]]; "
    "print(libc.syscall(int(sys.argv[1]), *arguments), ctypes.get_errno())"
)


def call(name: str, *arguments: int) -> Command:
    number = pyseccomp.resolve_syscall(pyseccomp.Arch.NATIVE, name)
    words = map(str, (number, *arguments, *[0] * (6 - len(arguments))))
    argv = ("/usr/bin/python3", "-I", "-c", CALL, *words)
    return Command(argv, limits=PATIENT, profile="compiler")


def allow_all() -> bytes:
    return seccomp._export(seccomp._new_filter(pyseccomp.ALLOW))


def profile_with_all_calls(_: Profile) -> bytes:
    return struct.pack(f"={seccomp.PROFILE_CALLS}H", *[seccomp.ALLOW] * seccomp.PROFILE_CALLS)


@pytest.mark.parametrize(
    ("function", "replacement"),
    [
        pytest.param("_build_notify_filter", allow_all, id="the notify filter allows"),
        pytest.param("_build_profile", profile_with_all_calls, id="init answers CONTINUE"),
    ],
)
async def test_x4_the_deny_filter_holds_whatever(
    function: str, replacement: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    """X4: the kernel ends a program that makes a call that no profile can allow."""
    monkeypatch.setattr(seccomp, function, replacement)
    async with Boxes.open(runner=RUNNER) as boxes:
        for name in ("bpf", "add_key", "ptrace", "setns", "unshare", "mount", "keyctl"):
            report = await boxes.run(call(name))
            seen = (report.status, report.signal, report.stdout)
            assert seen == (RunStatus.SIGNALLED, signal.SIGSYS, b""), name
        refused = [
            (call("io_uring_setup"), errno.ENOSYS),
            (call("clone3"), errno.ENOSYS),
            (call("socketpair", socket.AF_TIPC, socket.SOCK_STREAM), errno.EAFNOSUPPORT),
            (call("sendto", 1, 0, 0, 0, 1), errno.EPERM),
        ]
        for command, error in refused:
            report = await boxes.run(command)
            assert report.stdout.split() == [b"-1", str(error).encode()], command
        new_user = await boxes.run(call("clone", 0x10000000))
        assert new_user.signal == signal.SIGSYS


async def test_x4_a_call_that_both_filters_refuse_is_named() -> None:
    async with Boxes.open(runner=RUNNER) as boxes:
        report = await boxes.run(call("chroot"))
    assert (report.status, report.syscall) == (RunStatus.FORBIDDEN_SYSCALL, "chroot")


async def test_a_profile_can_allow_calls_that_otherwise_fail() -> None:
    calls = {"socketpair", "sendto", "flock"}
    profiles = (Profile("lockless", may_exec=True), Profile("sockets", True, frozenset(calls)))
    pair = call("socketpair", socket.AF_UNIX, socket.SOCK_STREAM, 0, 0)
    async with Boxes.open(profiles=profiles, runner=RUNNER) as boxes:
        for command, error in (
            (pair, errno.EFAULT),
            (call("sendto", 1, 0, 0, 0, 0), errno.ENOTSOCK),
            (call("flock", -1, 2), errno.EBADF),
        ):
            report = await boxes.run(replace(command, profile="sockets"))
            assert report.stdout.split() == [b"-1", str(error).encode()], command
        report = await boxes.run(replace(call("flock", 0, 2), profile="lockless"))
        assert report.stdout.split() == [b"-1", str(errno.ENOLCK).encode()]
        report = await boxes.run(replace(pair, profile="lockless"))
        assert report.syscall == "socketpair"


def test_x4_every_runner_has_its_own_token() -> None:
    """Filters are built once with another number, which must be in none of them."""
    one, two = (seccomp.build_filters([Profile("p")]) for _ in range(2))
    for own, others in ((one, two), (two, one)):
        for kept, foreign in (
            (own.deny_filter, others.deny_filter),
            (own.notify_filter, others.notify_filter),
        ):
            assert kept[:8] == own.notify_filter[:8] != foreign[:8]
            constants = {each[-1] for each in seccomp.INSTRUCTION.iter_unpack(kept[16:])}
            assert halves_of(kept) <= constants
            assert constants.isdisjoint(halves_of(foreign))
            assert constants.isdisjoint(halves_of(struct.pack("=Q", seccomp.STAND_IN)))


def halves_of(kept: bytes) -> set[int]:
    """The two halves of the token, which is in front of a filter."""
    return set(struct.unpack_from("=2I", kept))


@pytest.mark.parametrize(
    ("profile", "named"),
    [
        (Profile("p", allow=frozenset({"no_such_call"})), "no_such_call"),
        (Profile("p", allow=frozenset({"read"})), "read"),
        (Profile("p", allow=frozenset({"ptrace"})), "ptrace"),
        (Profile("p", errno={"io_uring_setup": "EPERM"}), "io_uring_setup"),
        (Profile("p", errno={"socket": "ENOSUCH"}), "ENOSUCH"),
    ],
)
def test_an_invalid_profile_is_refused_with_its_mistake(profile: Profile, named: str) -> None:
    with pytest.raises(Refused, match=named):
        seccomp.build_filters([profile])


@pytest.mark.parametrize(
    ("arch", "number", "name"),
    [
        (pyseccomp.Arch.X86_64, 41, "socket"),
        (pyseccomp.Arch.X86, 4, "i386:write"),
        (pyseccomp.Arch.X86_64, 0x40000000 + 1, "x32:write"),
        (pyseccomp.Arch.X86_64, 600, "#600"),
        (pyseccomp.Arch.X86_64, -1, "#-1"),
    ],
)
def test_x4_calls_of_other_abis_have_names_too(arch: int, number: int, name: str) -> None:
    if pyseccomp.system_arch() != pyseccomp.Arch.X86_64:
        pytest.skip("the names are those of x86-64")
    assert seccomp.name_syscall(arch, number) == name
