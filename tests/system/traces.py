"""What workers leave on the machine: nothing, once they have ended, however they did."""

from contextlib import suppress
from pathlib import Path

from tests.sandbox.conftest import RunnerTree, assert_gone, is_gone, processes_under
from tests.system.fleet import Fleet
from tests.waiting import until

RUNNER = "deemster-runner"
TRANSIENT = (
    "work",
    "data/spool",
    "data/compiled/filling",
    "data/precompiled/filling",
    "data/precompiled/work",
    "data/revisions/staging",
    "data/artifacts/.incoming",
)
PROGRAM = "program"
"""As languages/c.toml calls what it makes."""


def runners_of(worker: int) -> list[int]:
    """Also asked for a worker that is about to end: then it may have none.

    With root, the launcher is between them. The processes in a box have a runner's name, too.
    """
    below = processes_under(worker) - {worker}
    return [
        pid for pid in below if name_of(pid) == RUNNER and name_of(parent_of(pid)) != RUNNER
    ]


def parent_of(pid: int) -> int:
    try:
        rest = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2]
    except OSError:
        return 0
    return int(rest.split()[1])


def programs_of(worker: int) -> list[int]:
    """Processes of judged programs that a compiler made."""
    return [pid for pid in processes_under(worker) if name_of(pid) == PROGRAM]


def name_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text(errors="replace").strip()
    except OSError:
        return ""


def terminals_of(worker: int) -> set[tuple[Path, int]]:
    """The terminals whose master a worker has open, each with the time at which it was made."""
    found = set()
    for fd in Path(f"/proc/{worker}/fd").glob("*"):
        with suppress(OSError):  # the worker ends, or closes it
            if str(fd.readlink()).endswith("/ptmx"):
                info = Path(f"/proc/{worker}/fdinfo/{fd.name}").read_text()
                number = info.partition("tty-index:")[2].split()[0]
                path = Path("/dev/pts", number)
                found.add((path, path.stat().st_ctime_ns))
    return found


def left_in(directory: Path) -> list[Path]:
    return [path for place in TRANSIENT for path in directory.glob(f"{place}/*")]


class Watch:
    """Remembers every sandbox and terminal that was seen; look before anything is killed."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self._trees: dict[int, RunnerTree] = {}
        self._terminals: set[tuple[Path, int]] = set()

    def look(self) -> None:
        for worker in self._fleet.running("worker"):
            self._terminals |= terminals_of(worker.pid)
            for runner in runners_of(worker.pid):
                self._trees.setdefault(runner, RunnerTree(runner))
        for tree in self._trees.values():
            tree.update()

    async def nothing_is_left(self, directory: Path) -> None:
        """No process, mount, group or terminal, and nothing in the service's transient
        directories.
        """
        assert self._trees, "no worker was seen"
        await assert_gone(*self._trees.values())
        await until(lambda: all(is_gone(*each) for each in self._terminals))
        assert not left_in(directory)
