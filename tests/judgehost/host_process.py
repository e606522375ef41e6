"""A judge host in a process of its own, and tasks for it."""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from deemster.domain.execution import ExecutionLimits, ExecutionOptions, OutputChunk
from deemster.domain.judge_host import HostKey
from deemster.domain.source import pack_files
from deemster.pipeline.remote.messages import (
    ExecutePart,
    Finish,
    HostTask,
    JudgePart,
    ProblemData,
    TaskKind,
)
from deemster.problems.distribution import pack
from deemster.problems.revision import RevisionStore
from tests.judgehost.stub_server import StubServer
from tests.waiting import wait_until

NUMBERS = count(1)


@dataclass
class HostProcess:
    process: subprocess.Popen[bytes]
    log: Path
    directory: Path
    memory: Path

    @property
    def said(self) -> str:
        return self.log.read_text(errors="replace")

    @property
    def data(self) -> Path:
        return self.directory / "data"

    def end(self) -> int:
        """By SIGTERM."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(60)

    def kill(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()


def new_memory_directory() -> Path:
    """On a tmpfs and for every user, as /dev/shm is: a host does not stay root."""
    path = Path(tempfile.mkdtemp(dir="/dev/shm", prefix="deemster-test-"))
    path.chmod(0o1777)
    return path


@contextmanager
def running_host(
    stub: StubServer, directory: Path, memory: Path, **settings: object
) -> Iterator[HostProcess]:
    """A host that has registered at the stub."""
    before = len(stub.announcements)
    with started_host(stub.url, stub.key, directory, memory, **settings) as host:
        wait_until(
            lambda: len(stub.announcements) > before or host.process.poll() is not None,
            why=lambda: host.said[-3000:],
        )
        assert host.process.poll() is None, host.said[-3000:]
        yield host


@contextmanager
def started_host(
    url: str, key: HostKey, directory: Path, memory: Path, **settings: object
) -> Iterator[HostProcess]:
    command = (sys.executable, "-X", "importtime")
    host = start_host(command, url, key, directory, memory, **settings)
    try:
        yield host
    finally:
        host.kill()


def start_host(
    command: Sequence[str],
    url: str,
    key: HostKey,
    directory: Path,
    memory: Path,
    **settings: object,
) -> HostProcess:
    """`command` starts Python."""
    directory.mkdir(exist_ok=True)
    key_file = directory / "key"
    key_file.touch(mode=0o600)
    key_file.write_text(key.text + "\n")
    ours = {
        "judgehost_key_file": key_file,
        "judgehost_memory_dir": memory,
        "data_dir": directory / "data",
        "work_dir": directory / "work",
        "slots": 1,
        "execution_slots": 2,
        "precompile": False,
        "warm_up_mb": 0,
        **settings,
    }
    environment = {f"DEEMSTER_{name.upper()}": str(value) for name, value in ours.items()}
    log = directory / f"log{next(NUMBERS)}"
    with log.open("wb") as file:
        process = subprocess.Popen(
            [*command, "-m", "deemster", "judgehost", "--server", url],
            env={**os.environ, **environment},
            stdout=file,
            stderr=file,
            start_new_session=True,
        )
    return HostProcess(process, log, directory, memory)


def make_task(kind: TaskKind, language: str, source: str, **parts: Any) -> HostTask:
    number = next(NUMBERS)
    return HostTask(
        judge_id=f"jdg_{number}",
        work=f"{'exe' if kind is TaskKind.EXECUTE else 'sub'}_{number}",
        kind=kind,
        attempt=1,
        language=language,
        main=None,
        files=pack_files({"main.c" if language == "c" else "main.py": source.encode()}),
        **{"deadline_s": 60, **parts},
    )


def execution(language: str, source: str, **parts: Any) -> HostTask:
    part = ExecutePart(stdin=b"", args=[], limits=ExecutionLimits(), options=ExecutionOptions())
    return make_task(TaskKind.EXECUTE, language, source, execute=part, **parts)


def judging(language: str, source: str, data: ProblemData, **limits: Any) -> HostTask:
    part = JudgePart(**{"time_ms": 2000, "cases": 3, **limits})
    return make_task(TaskKind.JUDGE, language, source, judge=part, data=data)


async def publish(stub: StubServer, package: Path, place: Path) -> ProblemData:
    """Packs a package as the server does, and offers it there."""
    store = RevisionStore(place / "revisions", 1 << 30)
    revision = await store.import_package(package)
    tar = place / f"{revision.digest}.tar"
    pack(revision.directory, tar)
    path = f"/v1/judgehost/data/{revision.digest}?expires=1&signature=2"
    stub.data[path] = tar.read_bytes()
    return ProblemData(digest=revision.digest, path=path)


def outcome(stub: StubServer, task: HostTask) -> Finish:
    """Gives the task to the host that fetches, and waits for its result."""
    stub.tasks.append(task)
    return result_of(stub, task)


def result_of(stub: StubServer, task: HostTask) -> Finish:
    wait_until(lambda: stub.finishes[task.judge_id])
    return stub.finishes[task.judge_id][0]


def output_of(stub: StubServer, task: HostTask) -> list[OutputChunk]:
    """All output of a program that has ended: some may have come before the result."""
    result = result_of(stub, task).execute
    assert result is not None
    early = [chunk for update in stub.updates[task.judge_id] for chunk in update.output]
    return early + result.output
