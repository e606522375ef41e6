"""The loop of one host: it fetches work, judges, reports, and gives back what it can't do."""

import asyncio
import time
import traceback
from collections import deque
from collections.abc import Awaitable, Iterator, Sequence
from contextlib import AsyncExitStack, contextmanager, suppress
from typing import Final, TypeVar

import structlog

from deemster.judgehost.domjudge.debug_info import debug_form
from deemster.judgehost.domjudge.executables import ExecutableId
from deemster.judgehost.domjudge.internal_error import Disabled, InternalError, error_form
from deemster.judgehost.domjudge.judging import HostParts, Judging, judging_key
from deemster.judgehost.domjudge.kept_judgings import KeptJudgings
from deemster.judgehost.domjudge.reports import compile_form, run_form
from deemster.judgehost.domjudge.result import RunResult
from deemster.judgehost.domjudge.server import LoginRefused, ServerRefused
from deemster.judgehost.domjudge.tasks import (
    JudgingTask,
    ServerConfig,
    ServerUnavailable,
    Task,
    TaskType,
)
from deemster.judgehost.domjudge.versions import report_versions

log = structlog.get_logger()

T = TypeVar("T")

FIRST_WAIT_S: Final = 0.1
MAX_WAIT_S: Final = 5.0
"""The pauses between two questions for work while there is none, as DOMjudge's daemon has."""
TRIES: Final = 2
"""How often a run is tried whose sandbox failed, before this host reports itself as broken."""
LOG_LINES: Final = 20
KNOWN_FAULTS: Final = (ServerUnavailable, ServerRefused, InternalError)


class DomjudgeHost:
    """One judgehost of the server, which judges one submission at a time."""

    def __init__(self, name: str, parts: HostParts, kept: KeptJudgings) -> None:
        self.name = name
        self._parts = parts
        self._server = parts.server
        self._kept = kept
        self._drained = asyncio.Event()
        self._lines: deque[str] = deque(maxlen=LOG_LINES)
        self._config = ServerConfig()
        self._holding = AsyncExitStack()
        self._judging: Judging | None = None
        self._key: tuple[str | None, ...] | None = None
        self._wait_s = FIRST_WAIT_S
        self._is_idle = False
        self._is_known = False

    def drain(self) -> None:
        """Ends the loop after the running test case, and gives the rest back."""
        self._drained.set()

    async def run(self) -> None:
        """Runs until it is drained. Raises LoginRefused if the server refuses the user."""
        async with self._holding:
            await self._register()
            while not self._drained.is_set():
                try:
                    await self._work(await self._server.fetch_work(self.name))
                except LoginRefused:
                    raise
                except (ServerUnavailable, ServerRefused) as fault:
                    self._note("domjudge.interrupted", error=str(fault))
                    await self._pause()
                    await self._register()

    async def _register(self) -> None:
        """The server takes back all work of this host that is unfinished (M7).

        Raises ServerRefused if the URL is wrong; a server that was there before is waited for.
        """
        while not self._drained.is_set():
            try:
                await self._give_back()
                self._config = await self._server.config()
                with suppress(ServerRefused):
                    languages = await self._server.languages()
                    self._parts.executables.use_extensions(languages)
            except LoginRefused:
                raise
            except (ServerUnavailable, ServerRefused) as fault:
                if isinstance(fault, ServerRefused) and not self._is_known:
                    raise
                self._note("domjudge.unreachable", error=str(fault))
                await self._pause()
            else:
                self._is_known = True
                self._note("domjudge.registered")
                return

    async def _give_back(self) -> None:
        for unfinished in await self._server.register(self.name):
            self._note("domjudge.given_back", job=unfinished.job)

    async def _work(self, tasks: Sequence[Task]) -> None:
        if not tasks:
            await self._tell_idle()
            await self._pause()
            return
        self._wait_s = FIRST_WAIT_S
        self._is_idle = False
        if tasks[0].type is TaskType.TRY_AGAIN:
            await self._pause()
            return
        first = tasks[0]
        self._note("domjudge.work", type=str(first.type), tasks=len(tasks), job=first.job)
        if first.type is TaskType.UNKNOWN:
            await self._pause()
        elif first.type is TaskType.PREFETCH:
            for task in tasks:
                await self._prefetch(task)
        elif first.type is TaskType.DEBUG_INFO:
            for task in tasks:
                await self._send_debug_info(task)
        elif not await self._judge_all([t for t in tasks if isinstance(t, JudgingTask)]):
            await self._give_back()

    async def _tell_idle(self) -> None:
        if self._is_idle:
            return
        self._is_idle = True
        with suppress(ServerRefused):  # some servers show the list only to the jury
            if not await self._server.is_enabled(self.name):
                self._note("domjudge.host_not_enabled")

    async def _pause(self) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(self._wait_s):
                await self._drained.wait()
        self._wait_s = min(self._wait_s * 2, MAX_WAIT_S)

    # ---- judging ----

    async def _judge_all(self, tasks: Sequence[JudgingTask]) -> bool:
        """Returns False if tasks are left, which the server must take back.

        The report of a run is sent while the next test case runs.
        """
        report: Awaitable[bool] | None = None
        for task in tasks:
            async with asyncio.TaskGroup() as group:
                judging = group.create_task(outcome(self._judge(task)))
                sending = None if report is None else group.create_task(outcome(report))
            report = None
            if sending is not None and not result_of(sending.result()):
                return False
            try:
                judged = result_of(judging.result())
            except InternalError as error:
                await self._report_error(error, task.id)
                return False
            if judged is None:  # it was not compiled
                return False
            report = self._server.add_judging_run(self.name, task.id, judged)
            if judged["runresult"] != RunResult.CORRECT or self._drained.is_set():
                wants_more = await report
                report = None
                if not wants_more:
                    return False
            if self._drained.is_set():
                return task is tasks[-1]
        return report is None or await report

    async def _judge(self, task: JudgingTask) -> dict[str, str] | None:
        """Returns the form of the report; None: the submission does not compile."""
        for _ in range(TRIES - 1):
            try:
                return await self._try_judge(task)
            except KNOWN_FAULTS:
                raise
            except Exception as fault:  # noqa: BLE001 - the last try reports it
                self._note("domjudge.sandbox_failed", task=task.id, error=repr(fault))
        with self._own_faults():
            return await self._try_judge(task)

    async def _try_judge(self, task: JudgingTask) -> dict[str, str] | None:
        judging = await self._open_judging(task)
        stored_bytes = self._config.output_storage_limit
        if not judging.is_compiled:
            await report_versions(self._server, self._parts.lanes, self.name, task)
            compiled = await judging.compile(task)
            form = compile_form(compiled, stored_bytes)
            await self._server.update_judging(self.name, task.id, form)
            self._note("domjudge.compiled", job=task.job, success=compiled.is_success)
            if not compiled.is_success:
                return None
        began_s = time.time()
        judged = await judging.run(task)
        self._note(
            "domjudge.judged",
            job=task.job,
            task=task.id,
            testcase=task.testcase,
            result=str(judged.result),
            time_s=round(judged.run.used_s, 3),
        )
        return await asyncio.to_thread(
            run_form, judged, self.name, (began_s, time.time()), stored_bytes
        )

    async def _open_judging(self, task: JudgingTask) -> Judging:
        if self._judging is not None and self._key == judging_key(task):
            return self._judging
        self._judging = self._key = None
        await self._holding.aclose()
        self._config = await self._server.config()
        self._judging = await self._holding.enter_async_context(
            Judging.open(self._parts, self.name, self._config, self._kept, task)
        )
        self._key = judging_key(task)
        return self._judging

    # ---- other tasks ----

    async def _prefetch(self, task: Task) -> None:
        """Fetches and builds what later tasks need."""
        configs = {
            "compile": (task.compile_script, task.compile_config),
            "run": (task.run_script, task.run_config),
            "compare": (task.compare_script, task.compare_config),
        }
        try:
            with self._own_faults():
                for kind, (script, config) in configs.items():
                    if script is not None and config is not None and config.hash:
                        executable = ExecutableId(kind, script, config.hash)
                        async with self._parts.executables.opened(executable, self._config):
                            pass
                if task.testcase is not None:
                    async with self._parts.testcases.opened(task.testcase, task.testcase_hash):
                        pass
        except InternalError as error:
            await self._report_error(error, task.id)

    async def _send_debug_info(self, task: Task) -> None:
        try:
            with self._own_faults():
                kept = self._kept.find(task)
                form = await debug_form(self._parts, self._config, task, kept)
        except InternalError as error:
            await self._report_error(error, task.id)
            return
        if form is None:
            self._note("domjudge.no_debug_info", task=task.id, job=task.job)
            return
        await self._server.add_debug_info(self.name, task.id, form)

    @contextmanager
    def _own_faults(self) -> Iterator[None]:
        """Whatever nobody expects is a fault of this host, which the server then disables."""
        try:
            yield
        except KNOWN_FAULTS:
            raise
        except Exception as fault:
            raise InternalError(
                f"Judging failed on {self.name}: {fault}",
                Disabled.host(self.name),
                traceback.format_exc(),
            ) from fault

    async def _report_error(self, error: InternalError, task: int) -> None:
        self._note("domjudge.internal_error", error=error.description, details=error.details)
        lines = "\n".join(self._lines)
        number = await self._server.report_internal_error(
            error_form(error, self.name, task, lines)
        )
        self._note("domjudge.internal_error_reported", number=number)

    def _note(self, event: str, **facts: object) -> None:
        """Logs an event; the server gets the last ones with an internal error."""
        log.info(event, host=self.name, **facts)
        words = " ".join(f"{name}={value}" for name, value in facts.items())
        self._lines.append(f"{time.strftime('%H:%M:%S', time.gmtime())} {event} {words}")


async def outcome(work: Awaitable[T]) -> T | Exception:
    """Returns an exception, so that it does not cancel other tasks of its group."""
    try:
        return await work
    except Exception as fault:  # noqa: BLE001 - `result_of` raises it again
        return fault


def result_of(found: T | Exception) -> T:
    if isinstance(found, Exception):
        raise found
    return found
