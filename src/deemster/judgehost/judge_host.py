"""The loop of a judge host: announces itself, sends heartbeats, takes tasks, sends results."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

import structlog

from deemster.domain.errors import LostRace, Unavailable
from deemster.domain.job import QUEUE_OF, Task
from deemster.domain.judgement import OnCase
from deemster.judgehost.hosted_tasks import HostedTask, HostedTasks, SlotKind, TaskAdmission
from deemster.judgehost.server_connection import (
    MessageRefused,
    NoLongerCounts,
    ServerConnection,
)
from deemster.judgehost.task_runner import failed
from deemster.metrics import RUN_TIME
from deemster.pipeline.remote.messages import (
    Announcement,
    Finish,
    HeartbeatAnswer,
    HeartbeatRequest,
    HostOrder,
    HostTask,
    TaskKind,
    TaskRequest,
)

log = structlog.get_logger()

WAIT_S: Final = 25.0
"""A request for tasks is answered after this time, even if there is none."""
RETRY_S: Final = 1.0
LEAVE_S: Final = 5.0
RUNS: Final = {
    TaskKind.JUDGE: Task.RUN,
    TaskKind.EXECUTE: Task.EXECUTE,
    TaskKind.ANALYZE: Task.ANALYZE,
}

RunTask = Callable[[HostTask, OnCase], Awaitable[Finish]]
PrepareTask = Callable[[HostTask], Awaitable[None]]
"""Whatever it does or fails at, the task can be run after it."""


@dataclass(frozen=True, slots=True)
class HostFacts:
    """What the host announces."""

    release: str
    slots: int
    execution_slots: int
    speed: float | None
    address: str | None
    """None: the host fetches its tasks."""


class JudgeHost:
    def __init__(
        self,
        server: ServerConnection,
        prepare_task: PrepareTask,
        run_task: RunTask,
        facts: HostFacts,
        versions: Mapping[str, str],
        data: Callable[[], Awaitable[list[str]]],
    ) -> None:
        """`versions` maps languages to the versions of this host; it may change."""
        self._server = server
        self._prepare_task = prepare_task
        self._run_task = run_task
        self._facts = facts
        self._versions = versions
        self._reported: dict[str, str] = {}
        self._data = data
        self.tasks = HostedTasks(facts.slots, facts.execution_slots)
        self._worker: str | None = None
        self._heartbeat_s = RETRY_S
        self._is_drained = False
        self._is_ending = False
        self._wake = asyncio.Event()
        self._group: asyncio.TaskGroup | None = None

    async def run(self) -> None:
        """Returns when the host was drained and all results are sent."""
        async with asyncio.TaskGroup() as group:
            self._group = group
            services = [group.create_task(self._keep_beating())]
            if self._facts.address is None:
                kinds = [SlotKind.JUDGING]
                if self._facts.execution_slots:
                    kinds.append(SlotKind.EXECUTIONS)
                services += [group.create_task(self._keep_fetching(kind)) for kind in kinds]
            while not self._is_ending or len(self.tasks):
                await self._change()
            for service in services:
                service.cancel()
        await self._leave()

    # ---- what others ask for ----

    def drain(self) -> None:
        """Takes no more tasks; the host ends when it has none."""
        self._is_ending = True
        self._wake.set()
        self.tasks.changed.set()

    def stop(self) -> None:
        """Also abandons the tasks it has."""
        self.drain()
        self.tasks.abandon_all()

    def accept(self, task: HostTask) -> TaskAdmission:
        """Starts a task unless the host is full or ending, or knows it."""
        if self._worker is None or self._is_idle:
            return TaskAdmission.FULL
        return self._start(task, is_fetched=False)

    def _start(self, task: HostTask, *, is_fetched: bool) -> TaskAdmission:
        if self._group is None:
            return TaskAdmission.FULL
        hosted = self.tasks.admit(task, is_fetched=is_fetched)
        if isinstance(hosted, TaskAdmission):
            return hosted
        self._group.create_task(self._handle(hosted))
        return TaskAdmission.STARTED

    @property
    def _is_idle(self) -> bool:
        return self._is_drained or self._is_ending

    # ---- heartbeats ----

    async def _keep_beating(self) -> None:
        while True:
            self._wake.clear()
            pause_s = RETRY_S
            try:
                if self._worker is None:
                    await self._register()
                self._obey(await self._beat())
                pause_s = self._heartbeat_s
            except NoLongerCounts:
                self._obey(HeartbeatAnswer(order=HostOrder.GONE))
            except (MessageRefused, Unavailable) as fault:
                log.warning("judgehost.heartbeat_failed", error=str(fault))
            with suppress(TimeoutError):
                async with asyncio.timeout(pause_s if self._worker is not None else 0):
                    await self._wake.wait()

    async def _register(self) -> None:
        versions = dict(self._versions)
        announcement = Announcement(
            release=self._facts.release,
            slots=self._facts.slots,
            execution_slots=self._facts.execution_slots,
            languages=versions,
            speed=self._facts.speed,
            address=self._facts.address,
        )
        registration = await self._server.register(announcement)
        self._worker, self._reported = registration.worker, versions
        self._heartbeat_s = registration.heartbeat_s
        log.info("judgehost.registered", worker=self._worker, speed=self._facts.speed)
        self.tasks.changed.set()

    async def _beat(self) -> HeartbeatAnswer:
        assert self._worker is not None, "the host is registered"
        versions = dict(self._versions)
        answer = await self._server.heartbeat(
            HeartbeatRequest(
                worker=self._worker,
                busy=self.tasks.busy,
                running=self.tasks.shown(),
                languages=versions if versions != self._reported else None,
                data=await self._data(),
                ending=self._is_ending,
            )
        )
        self._reported = versions
        return answer

    def _obey(self, answer: HeartbeatAnswer) -> None:
        for judge_id in answer.lost:
            if self.tasks.abandon(judge_id):
                log.info("judgehost.task_lost", judgeId=judge_id)
        if answer.order is HostOrder.GONE:
            log.warning("judgehost.taken_for_dead", worker=self._worker)
            self.tasks.abandon_all()
            self._worker = None
        is_drained = answer.order is HostOrder.DRAIN
        if is_drained is not self._is_drained:
            log.info("judgehost.drained" if is_drained else "judgehost.resumed")
            self._is_drained = is_drained
            self.tasks.changed.set()

    async def _leave(self) -> None:
        if self._worker is None:
            return
        try:
            async with asyncio.timeout(LEAVE_S):
                await self._server.leave(self._worker)
        except (LostRace, TimeoutError, Unavailable) as fault:
            log.warning("judgehost.left_silently", error=str(fault))

    # ---- tasks ----

    async def _keep_fetching(self, kind: SlotKind) -> None:
        """Each kind of slots has a request of its own: one that waits for submissions must not
        keep executions from a slot that has become free meanwhile.
        """
        while True:
            worker, free = self._worker, self.tasks.free(kind)
            if worker is None or self._is_idle or free <= 0:
                await self._change()
                continue
            slots, executions = (free, 0) if kind is SlotKind.JUDGING else (0, free)
            request = TaskRequest(
                worker=worker, slots=slots, execution_slots=executions, wait_s=WAIT_S
            )
            try:
                tasks = await self._server.fetch_tasks(request)
            except NoLongerCounts:
                self._wake.set()  # the heartbeat finds out, and registers again
                await asyncio.sleep(RETRY_S)
                continue
            except (MessageRefused, Unavailable) as fault:
                log.warning("judgehost.no_tasks", error=str(fault))
                await asyncio.sleep(RETRY_S)
                continue
            # Also if the host has been drained meanwhile: the server counts on it.
            for task in tasks:
                self._start(task, is_fetched=True)

    async def _handle(self, hosted: HostedTask) -> None:
        task = hosted.task
        log.info("judgehost.task_started", judgeId=task.judge_id, kind=task.kind)
        began_s = time.monotonic()
        try:
            try:
                finish = await self._run(hosted)
                took_s = time.monotonic() - began_s
                RUN_TIME.labels(QUEUE_OF[RUNS[task.kind]], task.language).observe(took_s)
            finally:
                self.tasks.release(hosted)
            if not hosted.is_lost:
                await self._send(hosted, finish)
        finally:
            self.tasks.remove(hosted)
        log.info("judgehost.task_ended", judgeId=task.judge_id, lost=hosted.is_lost)

    async def _run(self, hosted: HostedTask) -> Finish:
        task = hosted.task
        try:
            async with asyncio.timeout(0 if hosted.is_lost else None) as hosted.scope:
                slot = self.tasks.slot(hosted)
                if slot.locked():
                    await self._prepare_task(task)
                async with slot:
                    if not hosted.is_lost:
                        now_s = asyncio.get_running_loop().time()
                        hosted.scope.reschedule(now_s + task.deadline_s)
                    return await self._run_task(task, hosted.count)
        except TimeoutError:
            return failed(Unavailable(f"The task took longer than {task.deadline_s:g} s."))
        finally:
            hosted.scope = None

    async def _send(self, hosted: HostedTask, finish: Finish) -> None:
        """Until the server has it, or says that it does not count."""
        refused = failed(Unavailable("The server refused the result of a task."))
        with suppress(TimeoutError):
            async with asyncio.timeout(None) as hosted.scope:
                for message in (finish, refused):
                    try:
                        await self._server.finish(hosted.task, message)
                    except MessageRefused as fault:
                        log.warning("judgehost.result_refused", error=str(fault))
                    except NoLongerCounts as fault:
                        hosted.is_lost = True
                        log.info("judgehost.result_dropped", reason=str(fault))
                        return
                    else:
                        return

    async def _change(self) -> None:
        """Waits until a slot becomes free or a task ends, or for a moment."""
        with suppress(TimeoutError):
            async with asyncio.timeout(RETRY_S):
                await self.tasks.changed.wait()
        self.tasks.changed.clear()
