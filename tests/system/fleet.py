"""The service's processes, kept as a supervisor keeps them, and ended in every rude way."""

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from deemster.wiring.forked_process import ForkedProcess
from tests.services.role_process import start_role
from tests.waiting import PATIENCE_S, until

TAIL_LINES = 60
LAST_LINES = 10
RESTART_S = 0.2
"""What a supervisor waits before it starts again what died."""


@dataclass(slots=True)
class Member:
    """One role, in one process after the other."""

    name: str
    role: str
    environment: Mapping[str, str]
    log: Path
    process: ForkedProcess | None = None
    wanted: bool = True
    expected: set[int] = field(default_factory=set)
    """Processes of it that we end ourselves."""
    codes: list[int] = field(default_factory=list)
    """How those that have ended did."""

    @property
    def pid(self) -> int:
        assert self.process is not None, f"{self.name} is not started"
        return self.process.pid

    @property
    def is_running(self) -> bool:
        return self.process is not None and self.process.returncode is None

    def send(self, number: signal.Signals) -> None:
        self.expected.add(self.pid)
        with suppress(ProcessLookupError):
            os.kill(self.pid, number)

    def said(self, event: str) -> list[dict[str, Any]]:
        """The lines of its log about that."""
        return [line for line in log_lines(self.log) if line.get("event") == event]


class Fleet:
    def __init__(self, directory: Path, environment: Mapping[str, str]) -> None:
        self._directory = directory
        self._directory.mkdir(parents=True, exist_ok=True)
        self._environment = dict(environment)
        self._group = asyncio.TaskGroup()
        self.members: dict[str, Member] = {}
        self.unasked: list[str] = []
        """Each role that ended by itself, with the end of its log."""

    @classmethod
    @asynccontextmanager
    async def open(cls, directory: Path, environment: Mapping[str, str]) -> AsyncIterator[Self]:
        fleet = cls(directory, environment)
        async with fleet._group:
            try:
                yield fleet
            finally:
                fleet._end_all()

    def start(self, role: str, name: str | None = None, **settings: object) -> Member:
        """Settings go over those of the fleet."""
        name = name or role
        own = {f"DEEMSTER_{key.upper()}": str(value) for key, value in settings.items()}
        member = Member(
            name,
            role,
            self._environment | own,
            self._directory / f"{name}.log",
        )
        assert name not in self.members, f"there is a {name} already"
        self.members[name] = member
        member.log.touch()
        self._group.create_task(self._supervise(member))
        return member

    async def _supervise(self, member: Member) -> None:
        while member.wanted:
            member.process = await start_role(member.role, member.environment, member.log)
            if not member.wanted:  # all were ended meanwhile
                member.send(signal.SIGKILL)
            code = await member.process.wait()
            member.codes.append(code)
            if not member.wanted:
                return
            if member.pid not in member.expected:
                said = tail(member.log, LAST_LINES)
                self.unasked.append(f"{member.name} ended with exit code {code}:\n{said}")
            await asyncio.sleep(RESTART_S)

    def running(self, role: str) -> list[Member]:
        found = self.members.values()
        return [each for each in found if each.role == role and each.is_running]

    async def kill(self, member: Member) -> None:
        """It is started again at once."""
        dead = member.process
        member.send(signal.SIGKILL)
        assert dead is not None
        await dead.wait()

    async def leave(self, member: Member, *, signals: int = 1) -> int:
        """Tells it to end, and waits for that; its exit code."""
        assert member.process is not None
        member.wanted = False
        for _ in range(signals):
            member.send(signal.SIGTERM)
        async with asyncio.timeout(PATIENCE_S):
            code = await member.process.wait()
        del self.members[member.name]
        return code

    async def leave_all(self) -> dict[str, int]:
        """As a supervisor does it: all at once."""
        members = list(self.members.values())
        await until(lambda: all(member.is_running for member in members))
        codes = await asyncio.gather(*[self.leave(member) for member in members])
        return {member.name: code for member, code in zip(members, codes, strict=True)}

    def _end_all(self) -> None:
        for member in self.members.values():
            member.wanted = False
            if member.is_running:
                member.send(signal.SIGKILL)

    def tails(self) -> str:
        """The ends of all logs, for whoever has to find out why a test failed."""
        logs = sorted(self._directory.glob("*.log"))
        return "\n".join(f"--- {log.name}\n{tail(log)}" for log in logs)


def tail(log: Path, lines: int = TAIL_LINES) -> str:
    return "\n".join(log.read_text(errors="replace").splitlines()[-lines:])


def log_lines(log: Path) -> Iterator[dict[str, Any]]:
    for line in log.read_text(errors="replace").splitlines():
        with suppress(json.JSONDecodeError):
            found = json.loads(line)
            if isinstance(found, dict):
                yield found
