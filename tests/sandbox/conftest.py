"""Fixtures for sandbox tests: real boxes, opened once for each set of layers."""

import asyncio
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest
import pytest_asyncio

from deemster.domain.limits import Limits
from deemster.sandbox.boxes import Boxes
from deemster.sandbox.command import (
    STANDARD_PROFILES,
    Bind,
    Command,
    FilesView,
    Layers,
    Profile,
)
from deemster.sandbox.visible_files import system_view
from tests.services.kept_open import KeptOpen
from tests.waiting import PATIENCE_S, until

RUNNER = Path(os.environ["DEEMSTER_RUNNER"]) if "DEEMSTER_RUNNER" in os.environ else None
"""Another build of the runner, such as the one with sanitizers."""
SANITIZED = RUNNER is not None and RUNNER.name.endswith("-asan")
JAVA_BINDS = tuple(
    Bind(path, str(path)) for path in sorted(Path("/etc").glob("java-*-openjdk"))
)
JAVA = Profile("java", allow=frozenset({"socketpair"}), errno={"socket": "EACCES"})
"""The same permissions as in languages/java.toml."""
SLOWNESS = int(os.environ.get("DEEMSTER_TEST_SLOWNESS", "1"))
"""How many times slower programs are than on real hardware; set by tests/vm and `sanitize`."""

PATIENT = Limits(wall_ms=PATIENCE_S * 1000, cpu_ms=60_000)

C_FLAGS = ("-std=gnu17", "-D_GNU_SOURCE", "-O1", "-Wall", "-Wextra", "-static", "-pthread")


def shell(
    script: str, limits: Limits = PATIENT, code: Path | None = None, data: Path | None = None
) -> Command:
    argv = ("/bin/sh", "-c", script)
    return Command(argv, limits=limits, profile="compiler", code=code, data=data)


async def started(run: asyncio.Task[object], output: bytearray) -> None:
    """Waits until a program has written something."""
    await until(lambda: bool(output) or run.done())
    assert output


def processes_under(pid: int) -> set[int]:
    """Returns a process and all of its descendants, in any namespace."""
    found = {pid} if Path(f"/proc/{pid}").exists() else set()
    for children in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(OSError):
            for child in children.read_text().split():
                found |= processes_under(int(child))
    return found


def open_files(pid: int | None = None) -> int:
    return len(list(Path(f"/proc/{pid or os.getpid()}/fd").iterdir()))


class RunnerTree:
    """A runner and its descendants, recorded to check later that none is left."""

    def __init__(self, runner: int) -> None:
        self.runner = runner
        self._start_times: dict[int, str] = {}
        self.update()

    def update(self) -> None:
        """Adds the processes that exist now."""
        for pid in processes_under(self.runner):
            self._start_times.setdefault(pid, _start_time(pid))

    def alive(self) -> list[int]:
        return [
            pid
            for pid, start_time in self._start_times.items()
            if start_time and _start_time(pid) == start_time
        ]

    def traces(self) -> list[str]:
        return traces_of(self)


def traces_of(*trees: RunnerTree) -> list[str]:
    """Lists what is left of these runners on the machine; other runners may be active."""
    return [
        *(f"process {pid}" for tree in trees for pid in tree.alive()),
        *(f"cgroup {path}" for path in _groups({tree.runner for tree in trees})),
        *(line for line in machine_traces() if line not in BEFORE),
    ]


def _groups(runners: Collection[int]) -> list[Path]:
    names = tuple(f"deemster.{runner}." for runner in runners)
    tops = (line.split()[4] for line in _mounts() if " - cgroup" in line)
    # Unlike rglob, walk does not fail when another runner removes its group meanwhile.
    folders = (Path(folder) for top in tops for folder, _, _ in os.walk(top))
    return [folder for folder in folders if folder.name.startswith(names)]


def _start_time(pid: int) -> str:
    """Returns when a process was started; empty if it is dead, reaped or not."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if fields[0] in "ZX" else fields[19]


def _mounts() -> list[str]:
    return Path("/proc/self/mountinfo").read_text().splitlines()


def _belongs_to_a_box(uid: int) -> bool:
    """With root, boxes have uids that nothing else has; without root, the user's own."""
    return uid >= 1_900_000_000 if os.geteuid() == 0 else uid == os.geteuid()


def _ipc_objects() -> list[str]:
    found = []
    for kind in ("shm", "sem", "msg"):
        head, *lines = Path(f"/proc/sysvipc/{kind}").read_text().splitlines()
        uid = head.split().index("uid")
        found += [
            f"{kind} {line}" for line in lines if _belongs_to_a_box(int(line.split()[uid]))
        ]
    return found


def _files() -> list[Path]:
    """Returns files of boxes in directories that are writable for everybody."""
    found = []
    for folder in (Path("/dev/shm"), Path("/dev/mqueue"), Path(tempfile.gettempdir())):
        for path in folder.glob("*"):
            with suppress(OSError):
                if os.geteuid() == 0 and _belongs_to_a_box(path.lstat().st_uid):
                    found.append(path)
    return found


def machine_traces() -> list[str]:
    """Lists what boxes left on the machine; it does not tell which run they belonged to."""
    return [
        *(f"mount {line}" for line in _mounts() if "deemster" in line or " /code " in line),
        *(f"object {line}" for line in _ipc_objects()),
        *(f"file {path}" for path in _files()),
    ]


BEFORE = frozenset(machine_traces())
"""What was there before this run; the clone itself may be on a mount of this name."""


async def assert_gone(*trees: RunnerTree) -> None:
    """Waits until nothing is left of these runners."""
    await until(lambda: not traces_of(*trees), why=lambda: "\n".join(traces_of(*trees)))


def is_gone(path: Path, made_ns: int) -> bool:
    """Tells whether a terminal is gone; another one may have its number by now."""
    try:
        return path.stat().st_ctime_ns != made_ns
    except FileNotFoundError:
        return True


class OpenBoxes:
    """Boxes by their layers, open over many tests."""

    def __init__(self) -> None:
        self._kept = KeptOpen()
        self.trees: list[RunnerTree] = []

    async def with_layers(self, layers: Layers) -> Boxes:
        return await self._open(layers, share_cpus=False)

    async def interactive(self) -> Boxes:
        """Boxes that share cores, as executions have them."""
        return await self._open(Layers.ALL, share_cpus=True)

    async def _open(self, layers: Layers, *, share_cpus: bool) -> Boxes:
        kind = layers, share_cpus
        return await self._kept.get(kind, lambda: self._opened(*kind))

    @asynccontextmanager
    async def _opened(self, layers: Layers, share_cpus: bool) -> AsyncIterator[Boxes]:
        async with Boxes.open(
            layers=layers,
            profiles=(*STANDARD_PROFILES, JAVA),
            script_view=FilesView(system_view().binds + JAVA_BINDS),
            runner=RUNNER,
            cpus=sorted(os.sched_getaffinity(0)) if share_cpus else (),
            share_cpus=share_cpus,
        ) as boxes:
            self.trees.append(RunnerTree(boxes.runner_pid))
            yield boxes
            self.trees.append(RunnerTree(boxes.runner_pid))

    async def close(self) -> None:
        await self._kept.close()


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def open_boxes() -> AsyncIterator[OpenBoxes]:
    """Opens boxes on demand, and checks after the last test that nothing is left (X2)."""
    boxes = OpenBoxes()
    yield boxes
    await boxes.close()
    await assert_gone(*boxes.trees)


@pytest.fixture(scope="session")
def build(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Path], Path]:
    """Returns a function that compiles a file into a /code directory, once for all workers."""
    shared = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        shared = shared.parent

    def build_once(source: Path) -> Path:
        # All Java programs are compiled together: most of the time is the compiler's start.
        name = "java" if source.suffix == ".java" else source.stem
        folder = shared / f"code-{name}"
        if not folder.exists():
            unfinished = Path(tempfile.mkdtemp(dir=shared))
            _compile(source, unfinished)
            unfinished.chmod(0o755)
            try:
                unfinished.rename(folder)
            except OSError:  # another worker was faster
                shutil.rmtree(unfinished)
        return folder

    return build_once


def _compile(source: Path, folder: Path) -> None:
    match source.suffix:
        case ".c":
            options = re.findall(r"^ \* Compile: (.+)", source.read_text(), re.MULTILINE)
            flags = (*C_FLAGS, *" ".join(options).split())
            command = ["gcc", *flags, "-o", str(folder / "attack"), str(source)]
        case ".java":
            quick = ("-proc:none", "-J-XX:TieredStopAtLevel=1", "-J-XX:+UseSerialGC")
            sources = map(str, sorted(source.parent.glob("*.java")))
            command = ["javac", *quick, "-d", str(folder), *sources]
        case _:
            shutil.copy(source, folder)
            return
    subprocess.run(command, check=True, capture_output=True, text=True)
