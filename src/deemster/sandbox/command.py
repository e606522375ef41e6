"""What to run in a box, and which layers the box has."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Flag, auto
from pathlib import Path
from types import MappingProxyType

from deemster.domain.limits import Limits

CODE_DIR = "/code"
"""Where the program's own files are seen, read-only."""
DATA_DIR = "/data"
"""Where test data is seen, read-only, by those who may: checkers, never contestants."""
WORK_DIR = "/work"
"""The writable scratch, also the working directory and (by links) /tmp and /dev/shm."""

ENVIRONMENT: Mapping[str, str] = MappingProxyType(
    {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "HOME": WORK_DIR,
        "TMPDIR": WORK_DIR,
        "LANG": "C.UTF-8",
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
        "PYTHONHASHSEED": "0",
    }
)
"""All that a program finds in its environment, whatever the host's is (J5)."""


class Layers(Flag):
    """What can be left out; mount, user and the slot's pid namespace always stand."""

    SECCOMP = auto()
    CGROUP = auto()
    PID = auto()
    NET = auto()
    IPC = auto()
    UTS = auto()
    NAMESPACES = PID | NET | IPC | UTS
    ALL = SECCOMP | CGROUP | NAMESPACES


@dataclass(frozen=True, slots=True)
class Bind:
    """A host path shown read-only in every box."""

    source: Path
    target: str


@dataclass(frozen=True, slots=True)
class Profile:
    """Which system calls a program has beyond the base list: see `policy.py`."""

    name: str
    may_exec: bool = False
    """Start other programs (compilers, shells)."""
    allow: frozenset[str] = frozenset()
    errno: Mapping[str, str] = field(default_factory=dict)
    """Calls answered with this error instead of ending the program, which only probes."""


STANDARD_PROFILES = (
    Profile("program"),
    Profile("compiler", may_exec=True, errno={"socket": "EACCES"}),
)
"""Compilers start others, and look up names by way of a daemon that isn't there."""


@dataclass(frozen=True, slots=True)
class Command:
    argv: tuple[str, ...]
    """argv[0] is an absolute path inside the box."""
    limits: Limits = Limits()
    profile: str = "program"
    """The name of a profile that the boxes were opened with."""
    environment: Mapping[str, str] = field(default_factory=lambda: ENVIRONMENT)
    code: Path | None = None
    """A host directory, shown read-only at /code. What others may read in it, programs can."""
    data: Path | None = None
    """Another one, at /data, from which nothing can be executed."""
    address_space: bool = False
    """Also bound the address space by the memory limit (not for runtimes that reserve it)."""
