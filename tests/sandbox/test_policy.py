"""X4: the two filters, each without the other's help, and the profiles."""

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
async def test_x4_the_floor_refuses_what_the_filter_would_let_pass(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def let_all_pass(_: int) -> bytes:
        return policy._export(policy._new_filter(pyseccomp.ALLOW))

    monkeypatch.setattr(policy, "_build_filter", let_all_pass)
    async with Boxes.open(runner=RUNNER) as boxes:
        report = await boxes.run(call(name))
    assert report.stdout.split() == [b"-1", str(errno.ENOSYS).encode()]


async def test_x4_a_call_that_both_refuse_is_named() -> None:
    async with Boxes.open(runner=RUNNER) as boxes:
        report = await boxes.run(call("add_key"))
    assert (report.status, report.syscall) == (RunStatus.FORBIDDEN_SYSCALL, "add_key")


def test_every_slot_has_a_word_of_its_own() -> None:
    one, two = (policy.build_policy([Profile("p")]).filter[:8] for _ in range(2))
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
def test_a_profile_that_makes_no_sense_is_refused_by_name(profile: Profile, named: str) -> None:
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
def test_x4_calls_have_names_also_by_another_abi(arch: int, number: int, name: str) -> None:
    if pyseccomp.system_arch() != pyseccomp.Arch.X86_64:
        pytest.skip("names of x86-64")
    assert policy.name_syscall(arch, number) == name
