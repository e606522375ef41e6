"""The tasks of this host: those that run, those whose results wait, and those it had before."""

import asyncio
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from cachetools import TTLCache

from deemster.domain.judge_host import CHECKS_AHEAD
from deemster.domain.judgement import CaseSoFar
from deemster.pipeline.remote.messages import HostTask, RunningTask, TaskKind

REMEMBERED_S: Final = 24 * 3600.0
MAX_REMEMBERED: Final = 1_000_000


class TaskAdmission(StrEnum):
    STARTED = "started"
    KNOWN = "known"
    """The host has it, or had it: it is not started twice (M2)."""
    FULL = "full"


class SlotKind(StrEnum):
    JUDGING = "judging"
    """Of submissions and analyses."""
    EXECUTIONS = "executions"


@dataclass(slots=True, eq=False)
class HostedTask:
    task: HostTask
    scope: asyncio.Timeout | None = None
    is_lost: bool = False
    """Its result no longer counts."""
    done: int = 0
    total: int = field(init=False)

    def __post_init__(self) -> None:
        self.total = self.task.judge.cases if self.task.judge is not None else 0

    @property
    def slot_kind(self) -> SlotKind:
        is_execution = self.task.kind is TaskKind.EXECUTE
        return SlotKind.EXECUTIONS if is_execution else SlotKind.JUDGING

    def count(self, _case: CaseSoFar) -> None:
        """Counts a judged case (J10); heartbeats tell only how many there are."""
        self.done = min(self.done + 1, self.total)

    def abandon(self) -> None:
        """Kills the program, or stops sending its result."""
        self.is_lost = True
        if self.scope is not None:
            self.scope.reschedule(asyncio.get_running_loop().time())


class HostedTasks:
    def __init__(self, slots: int, execution_slots: int) -> None:
        self._slots = {SlotKind.JUDGING: slots, SlotKind.EXECUTIONS: execution_slots}
        self._ahead = {SlotKind.JUDGING: CHECKS_AHEAD, SlotKind.EXECUTIONS: 0}
        self._free_slots = {kind: asyncio.Semaphore(most) for kind, most in self._slots.items()}
        self._tasks: dict[str, HostedTask] = {}
        self._admitted = dict.fromkeys(SlotKind, 0)
        self._known: TTLCache[str, None] = TTLCache(MAX_REMEMBERED, REMEMBERED_S)
        self.changed = asyncio.Event()
        """Set when a slot becomes free, and when a task ends."""

    def __len__(self) -> int:
        return len(self._tasks)

    @property
    def busy(self) -> int:
        return sum(min(self._admitted[kind], most) for kind, most in self._slots.items())

    def free(self, kind: SlotKind) -> int:
        """How many more tasks it takes; some of them may wait for a slot."""
        return self._slots[kind] + self._ahead[kind] - self._admitted[kind]

    @property
    def is_judging_full(self) -> bool:
        return self._free_slots[SlotKind.JUDGING].locked()

    def slot(self, hosted: HostedTask) -> asyncio.Semaphore:
        """The program runs while it is acquired."""
        return self._free_slots[hosted.slot_kind]

    def shown(self) -> list[RunningTask]:
        return [
            RunningTask(judge_id=judge_id, done=each.done, total=each.total)
            for judge_id, each in self._tasks.items()
        ]

    def admit(self, task: HostTask, *, is_fetched: bool) -> HostedTask | TaskAdmission:
        """The task takes a slot, or waits for one, until `release`.

        A fetched task waits however many there are, because the server has given it away.
        """
        if task.judge_id in self._known:
            return TaskAdmission.KNOWN
        hosted = HostedTask(task)
        if not is_fetched and self.free(hosted.slot_kind) <= 0:
            return TaskAdmission.FULL
        self._known[task.judge_id] = None
        self._tasks[task.judge_id] = hosted
        self._admitted[hosted.slot_kind] += 1
        return hosted

    def release(self, hosted: HostedTask) -> None:
        """The program has ended; its result may wait for the server."""
        self._admitted[hosted.slot_kind] -= 1
        self.changed.set()

    def remove(self, hosted: HostedTask) -> None:
        del self._tasks[hosted.task.judge_id]
        self.changed.set()

    def abandon(self, judge_id: str) -> bool:
        hosted = self._tasks.get(judge_id)
        if hosted is None or hosted.is_lost:
            return False
        hosted.abandon()
        return True

    def abandon_all(self) -> None:
        for judge_id in list(self._tasks):
            self.abandon(judge_id)
