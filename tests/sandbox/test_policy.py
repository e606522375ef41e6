"""X4: each seccomp filter works without the other, and profiles are checked."""

import errno

import pyseccomp
import pytest

from deemster.domain.errors import Refused
from deemster.domain.run_status import RunStatus
from deemster.sandbox import policy
from deemster.sandbox.boxes import Boxes
from deemster.sandbox.command import Command, Profile
from tests.sandbox.conftest import RUNNER

CALL = (
    "import ctypes, sys; libc = ctypes.CDLL(None, use_errno=True); "
    "print(libc.syscall(int(sys.argv[1]), 0, 0, 0, 0, 0), ctypes.get_errno())"
)


def call(name: str) -> Command:
    number = pyseccomp.resolve_syscall(pyseccomp.Arch.NATIVE, name)
    return Command(("/usr/bin/python3", "-I", "-c", CALL, str(number)), profile="compiler")


@pytest.mark.parametrize("name", ["bpf", "add_key", "ptrace", "io_uring_setup", "setns"])
async def test_x4_the_deny_filter_refuses_calls_that_the_notify_filter_allows(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def allow_all(_: int) -> bytes:
        return policy._export(policy._new_filter(pyseccomp.ALLOW))

    monkeypatch.setattr(policy, "_build_notify_filter", allow_all)
    async with Boxes.open(runner=RUNNER) as boxes:
        report = await boxes.run(call(name))
    assert report.stdout.split() == [b"-1", str(errno.ENOSYS).encode()]


async def test_x4_a_call_that_both_filters_refuse_is_named() -> None:
    async with Boxes.open(runner=RUNNER) as boxes:
        report = await boxes.run(call("add_key"))
    assert (report.status, report.syscall) == (RunStatus.FORBIDDEN_SYSCALL, "add_key")


def test_every_runner_has_its_own_token() -> None:
    one, two = (policy.build_policy([Profile("p")]).notify_filter[:8] for _ in range(2))
    assert one != two
    assert any(one)


@pytest.mark.parametrize(
    ("profile", "named"),
    [
        (Profile("p", allow=frozenset({"no_such_call"})), "no_such_call"),
        (Profile("p", allow=frozenset({"read"})), "read"),
        (Profile("p", errno={"socket": "ENOSUCH"}), "ENOSUCH"),
    ],
)
def test_an_invalid_profile_is_refused_with_its_mistake(profile: Profile, named: str) -> None:
    with pytest.raises(Refused, match=named):
        policy.build_policy([profile])


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
    assert policy.name_syscall(arch, number) == name
