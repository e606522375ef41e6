"""Reads the privileges of running processes from /proc, and checks that they are the least."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from deemster.privileges.service_user import find_service_user
from deemster.sandbox.launcher import CAPABILITIES

CAPABILITY_SETS = ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")
FIRST_BOX_UID = 1_900_000_000


@dataclass(frozen=True, slots=True)
class Privileges:
    argv: str
    uids: frozenset[int]
    groups: str
    capabilities: tuple[int, ...]
    """Inheritable, permitted, effective, bounding and ambient, as masks."""
    no_new: bool
    own_namespace: bool
    """In a user namespace of its own, in which capabilities mean little."""

    @property
    def is_root(self) -> bool:
        return 0 in self.uids and not self.own_namespace


def read_privileges(pid: int) -> Privileges | None:
    """None: the process has ended."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text(errors="replace").splitlines()
        argv = Path(f"/proc/{pid}/cmdline").read_text(errors="replace").replace("\0", " ")
        namespace = Path(f"/proc/{pid}/ns/user").stat().st_ino
    except OSError:
        return None
    fields = dict(line.split(":", 1) for line in lines)
    return Privileges(
        argv,
        frozenset(map(int, fields["Uid"].split())),
        fields["Groups"].strip(),
        tuple(int(fields[name], 16) for name in CAPABILITY_SETS),
        int(fields["NoNewPrivs"]) == 1,
        namespace != Path("/proc/self/ns/user").stat().st_ino,
    )


def check_least_privileges(pids: Iterable[int]) -> Sequence[Privileges]:
    """X11: only the launcher and the runners are root; returns all processes."""
    found = [each for pid in pids if (each := read_privileges(pid))]
    assert found
    assert all(each.no_new for each in found), found
    boxes = [each for each in found if each.own_namespace]
    outside = [each for each in found if not each.own_namespace]
    if os.geteuid() != 0:
        assert all(each.uids == {os.geteuid()} for each in outside), outside
        return found
    allowed = sum(1 << capability for capability in CAPABILITIES)
    service = find_service_user()
    for each in outside:
        if each.is_root:
            assert is_runner(each) or "deemster.sandbox.launcher" in each.argv, each
            assert all(mask & ~allowed == 0 for mask in each.capabilities), each
        else:
            assert each.uids == {service.uid}, each
            assert (each.groups, set(each.capabilities)) == ("", {0}), each
    assert all(min(each.uids) >= FIRST_BOX_UID for each in boxes), boxes
    return found


def has_runner_and_boxes(found: Iterable[Privileges]) -> bool:
    return any(map(is_runner, found)) and any(each.own_namespace for each in found)


def is_runner(found: Privileges) -> bool:
    return "deemster-runner" in found.argv
