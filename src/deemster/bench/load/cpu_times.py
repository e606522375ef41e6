"""Reads from /proc how much CPU time the processes of a service have used."""

import os
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

TICKS_PER_S: Final = os.sysconf("SC_CLK_TCK")
RUNNER: Final = "deemster-runner"


@dataclass(frozen=True, slots=True)
class ProcessTimes:
    name: str
    parent: int
    own_s: float
    children_s: float
    """Of children that have ended and were waited for."""

    @classmethod
    def read(cls, pid: int) -> Self:
        before, _, after = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")
        fields = after.split()
        user, system, children_user, children_system = map(int, fields[11:15])
        return cls(
            name=before.partition("(")[2],
            parent=int(fields[1]),
            own_s=(user + system) / TICKS_PER_S,
            children_s=(children_user + children_system) / TICKS_PER_S,
        )


def cpu_s(pid: int) -> float:
    """The time of the process alone, with all its threads."""
    return ProcessTimes.read(pid).own_s


def cpu_by_part(roles: Mapping[str, int], database: int) -> dict[str, float]:
    """Returns the seconds of each role, of Postgres, of runners and of the programs in boxes.

    What runs in a box is a child of a runner's process. It has ended when this is called.
    """
    tree = ProcessTree()
    found = dict.fromkeys((*roles, "postgres", "runner", "programs"), 0.0)
    for part, root in (*roles.items(), ("postgres", database)):
        for process, in_runner in tree.below(root):
            if in_runner:
                found["runner"] += process.own_s
                found["programs"] += process.children_s
            else:
                found[part] += process.own_s + process.children_s
    return found


class ProcessTree:
    def __init__(self) -> None:
        self._processes: dict[int, ProcessTimes] = {}
        self._children: dict[int, list[int]] = defaultdict(list)
        for entry in Path("/proc").iterdir():
            if entry.name.isdecimal():
                self._add(int(entry.name))

    def _add(self, pid: int) -> None:
        try:
            times = ProcessTimes.read(pid)
        except OSError:
            return  # it has ended meanwhile
        self._processes[pid] = times
        self._children[times.parent].append(pid)

    def below(self, root: int) -> Iterator[tuple[ProcessTimes, bool]]:
        """Gives the process and its descendants, and whether a runner is one or started it."""
        waiting = [(root, False)]
        while waiting:
            pid, in_runner = waiting.pop()
            process = self._processes[pid]
            in_runner |= process.name == RUNNER
            yield process, in_runner
            waiting += [(child, in_runner) for child in self._children[pid]]
