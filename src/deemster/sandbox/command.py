"""Describes a command to run in a box, and the layers and profiles of the box."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Flag, auto
from pathlib import Path
from types import MappingProxyType

from deemster.domain.limits import Limits

CODE_DIR = "/code"
"""Where the program finds its own files, read-only."""
DATA_DIR = "/data"
"""Where checkers and interactors find test data, read-only; submissions never get it."""
BYTECODE_FILE = ".bytecode"
"""Where a copy of a waiting interpreter finds bytecode in /code; runner/warm has this name."""
WORK_DIR = "/work"
"""The writable scratch: the working directory and, by links, /tmp and /dev/shm."""

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
"""The whole environment of a program, independent of the host's (J5)."""


class Layers(Flag):
    """The layers that can be left out; every slot has mount, user and pid namespaces."""

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
    """A host path that is mounted read-only in a box."""

    source: Path
    target: str


@dataclass(frozen=True, slots=True)
class FilesView:
    """What a box shows of the host's files; `visible_files.py` makes views."""

    binds: tuple[Bind, ...]
    links: tuple[tuple[str, str], ...] = ()
    """Text and path of symbolic links."""
    hidden: tuple[str, ...] = ()
    """Directories inside of binds that are empty in the box."""
    stamps: tuple[tuple[int, int, int], ...] = ()
    """Size, time and inode of each bound file: if one is replaced, the view is another."""
    _packed: list[bytes] = field(default_factory=list, init=False, repr=False, compare=False)

    def pack(self) -> bytes:
        """The view in the format of the runner. The key of each compilation contains it."""
        if not self._packed:
            self._packed.append(self._pack())
        return self._packed[0]

    def _pack(self) -> bytes:
        entries = [
            *(("bind", str(bind.source), bind.target) for bind in self.binds),
            *(("hide", path, path) for path in self.hidden),
            *(("link", text, path) for text, path in self.links),
        ]
        words = ["view", *(word for entry in entries for word in entry)]
        return b"".join(os.fsencode(word) + b"\0" for word in words)


def unpack_views(packed: bytes) -> list[FilesView]:
    """Raises ValueError if this is not what `FilesView.pack` makes."""
    views: list[FilesView] = []
    words = iter(packed.split(b"\0")[:-1])
    for kind in words:
        if kind == b"view":
            views.append(FilesView(()))
            continue
        if not views:
            raise ValueError("this is not a list of views")
        text, path = os.fsdecode(next(words, b"")), os.fsdecode(next(words, b""))
        view = views.pop()
        if kind == b"bind":
            view = replace(view, binds=(*view.binds, Bind(Path(text), path)))
        elif kind == b"hide":
            view = replace(view, hidden=(*view.hidden, path))
        elif kind == b"link":
            view = replace(view, links=(*view.links, (text, path)))
        else:
            raise ValueError("this is not a list of views")
        views.append(view)
    return views


@dataclass(frozen=True, slots=True)
class Profile:
    """The system calls that a program may make beyond the base list in `seccomp.py`."""

    name: str
    may_exec: bool = False
    """It may start other programs, as compilers and shells do."""
    allow: frozenset[str] = frozenset()
    errno: Mapping[str, str] = field(default_factory=dict)
    """Calls that fail with this error instead of ending the run."""


STANDARD_PROFILES = (
    Profile("program"),
    Profile("compiler", may_exec=True, errno={"socket": "EACCES"}),
)
"""Compilers start other programs, and try to reach a name service daemon."""


@dataclass(frozen=True, slots=True)
class Command:
    argv: tuple[str, ...]
    """argv[0] is an absolute path inside the box."""
    limits: Limits = Limits()
    profile: str = "program"
    """Name of one of the profiles that the boxes were opened with."""
    environment: Mapping[str, str] = field(default_factory=lambda: ENVIRONMENT)
    code: Path | None = None
    """A host directory to mount read-only at /code; it must be readable for everybody."""
    view: FilesView | None = None
    """What the box shows of the host's files; None: all programs and libraries."""
    data: Path | None = None
    """A host directory to mount read-only at /data, where nothing can be executed."""
    address_space: bool = False
    """Also limit the address space; not for runtimes that reserve more than they use."""
    warm: bool = False
    """It is an interpreter: the run may get a copy of one that has already started."""
