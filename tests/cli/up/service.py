"""Runs `deemster up` as a process, and finds its child processes."""

import json
import os
import re
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx

from deemster.pipeline.work.heartbeat import is_alive, process_name
from tests.cli.conftest import COMMAND
from tests.waiting import PATIENCE_S, until

WELCOMED = "Ctrl-C ends everything."
READY = re.compile(r"^Ready after .*: (http://\S+)$", re.MULTILINE)


class Up:
    def __init__(self, directory: Path, command: Sequence[str] = COMMAND) -> None:
        """The data directory is below a directory that only its owner may enter."""
        self.data = directory / "data"
        self._command = command
        self._output = directory / "output"
        self._environment = {
            **os.environ,
            "DEEMSTER_WORK_DIR": str(directory / "work"),
            "DEEMSTER_EXECUTION_SLOTS": "4",
            "DEEMSTER_PRECOMPILE": "false",
            "DEEMSTER_WARM_UP_MB": "0",
            "COLUMNS": "200",
        }
        directory.chmod(0o700)
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def process(self) -> subprocess.Popen[bytes]:
        assert self._process is not None
        return self._process

    @property
    def output(self) -> str:
        return self._output.read_text(errors="replace")

    @property
    def url(self) -> str:
        found = READY.search(self.output)
        assert found is not None, self.output
        return found[1]

    @property
    def environment(self) -> dict[str, str]:
        """For client commands."""
        return {
            **self._environment,
            "DEEMSTER_DATA_DIR": str(self.data),
            "DEEMSTER_URL": self.url,
        }

    def begin(self, port: int = 0, **variables: str) -> None:
        with self._output.open("wb") as output:
            self._process = subprocess.Popen(
                [
                    *self._command,
                    "up",
                    "--data",
                    str(self.data),
                    "--port",
                    str(port),
                    "--workers",
                    variables.get("DEEMSTER_SLOTS", "1"),
                ],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**self._environment, **variables},
                start_new_session=True,
            )

    async def start(self, port: int = 0, **variables: str) -> None:
        self.begin(port, **variables)
        await until(self._answers, why=lambda: self.output)
        assert self.process.poll() is None, self.output

    def _answers(self) -> bool:
        """Its welcome is complete, or it has ended."""
        is_complete = WELCOMED in self.output and READY.search(self.output) is not None
        return is_complete or self.process.poll() is not None

    async def ended(self) -> int:
        await until(lambda: self.process.poll() is not None, why=lambda: self.output)
        code: int = self.process.returncode
        return code

    async def end(self, number: int = signal.SIGINT) -> int:
        self.process.send_signal(number)
        return await self.ended()

    def processes(self) -> dict[str, int]:
        """All of its descendants, by names that no other process has."""
        names = {process_name(pid): pid for pid in with_descendants(self.process.pid)}
        return {name: pid for name, pid in names.items() if name is not None}

    def child(self, name: str) -> int | None:
        """The process of a role or of the database; None while there is none."""
        return next(iter(self.children(name)), None)

    def children(self, name: str) -> list[int]:
        parents = read_parents()
        return [
            pid
            for pid, parent in parents.items()
            # The fork server is between the supervisor and the first process of a role.
            if self.process.pid in {parent, parents.get(parent)} and role_of(pid) == name
        ]

    async def kill(self, name: str) -> None:
        """Kills the process and waits until there is a new one."""
        before = await until(lambda: self.child(name), why=lambda: self.output)
        assert before is not None
        os.kill(before, signal.SIGKILL)
        await until(
            lambda: self.child(name) not in {None, before},
            why=lambda: self.output,
        )

    def command(self, *arguments: str, **variables: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [*COMMAND, *arguments],
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            env={**self.environment, **variables},
            check=False,
        )

    async def get(self, path: str) -> Any:
        return await self._ask("GET", path)

    async def submit(self, source: str, problem: str = "prob_aplusb") -> str:
        """Returns the id of the submission. The command for it would import for a while."""
        body = {"problem_id": problem, "language": "python3", "source_code": source}
        return str((await self._ask("POST", "/v1/submissions", body))["id"])

    async def judge(self, source: str) -> str:
        """Returns the verdict."""
        submission = await self.submit(source)
        shown = await self.get(f"/v1/submissions/{submission}?wait=30")
        return str(shown["verdict"])

    async def _ask(self, method: str, path: str, body: object = None) -> Any:
        token = (self.data / "admin.token").read_text().strip()
        headers = {"Authorization": f"Bearer {token}"}
        async with httpx.AsyncClient(
            base_url=self.url, headers=headers, timeout=PATIENCE_S, verify=False
        ) as client:
            answer = await client.request(method, path, json=body)
            assert answer.is_success, answer.text
            return answer.json()


def with_descendants(pid: int) -> set[int]:
    parents = read_parents()
    known = {pid}
    while more := {each for each, parent in parents.items() if parent in known} - known:
        known |= more
    return known


def read_parents() -> dict[int, int]:
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                fields = (entry / "stat").read_text(errors="replace").rpartition(")")[2].split()
            except OSError:
                continue
            parents[int(entry.name)] = int(fields[1])
    return parents


def role_of(pid: int) -> str:
    try:
        argv = Path(f"/proc/{pid}/cmdline").read_text(errors="replace").rstrip("\0").split("\0")
    except OSError:
        return ""
    return "postgres" if argv[0].endswith("/postgres") else argv[-1]


async def all_gone(processes: Mapping[str, int]) -> None:
    def left() -> list[str]:
        return [f"{pid} {role_of(pid)}" for name, pid in processes.items() if is_alive(name)]

    await until(lambda: not left(), why=left)


def as_json(done: "subprocess.CompletedProcess[str]") -> Any:
    assert done.stdout, done.stderr
    return json.loads(done.stdout)
