"""Reads the privileges of running processes from /proc."""

from dataclasses import dataclass
from pathlib import Path

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


def read_privileges(pid: int) -> Privileges | None:
    """None: the process has ended."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
        argv = Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")
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
