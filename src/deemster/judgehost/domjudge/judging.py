"""One submission on this host: compiled once, then run on the test cases of its tasks."""

import asyncio
import shutil
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from deemster.directory_store import remove_tree
from deemster.domain.errors import Refused
from deemster.domain.source import check_name
from deemster.judgehost.domjudge.compilation import CompileResult, compile_submission
from deemster.judgehost.domjudge.executables import ExecutableId, Executables
from deemster.judgehost.domjudge.internal_error import Disabled, InternalError
from deemster.judgehost.domjudge.kept_judgings import KeptJudgings, testcase_directory
from deemster.judgehost.domjudge.server import DomServer, LoginRefused, decoded
from deemster.judgehost.domjudge.tasks import JudgingTask, ServerConfig, Task
from deemster.judgehost.domjudge.testcase_run import (
    PROGRAM_DIR,
    RUN_DIR,
    JudgedRun,
    TestcaseRunner,
)
from deemster.judgehost.domjudge.testcases import Testcases
from deemster.programs.workspace import make_directory
from deemster.sandbox.lanes import Lanes


@dataclass(frozen=True, slots=True)
class HostParts:
    """What the hosts of one process share."""

    server: DomServer
    lanes: Lanes
    executables: Executables
    testcases: Testcases


def judging_key(task: Task) -> tuple[str | None, ...]:
    """Tasks with the same key belong to one judging, of one database."""
    return (task.database, task.submission, task.job)


@dataclass(slots=True)
class Judging:
    parts: HostParts
    host: str
    config: ServerConfig
    directory: Path
    _holding: AsyncExitStack
    _executables: dict[ExecutableId, Path] = field(default_factory=dict)
    is_compiled: bool = False

    @classmethod
    @asynccontextmanager
    async def open(
        cls,
        parts: HostParts,
        host: str,
        config: ServerConfig,
        kept: KeptJudgings,
        task: JudgingTask,
    ) -> AsyncIterator[Self]:
        directory = await asyncio.to_thread(kept.start, task)
        async with AsyncExitStack() as holding:
            yield cls(parts, host, config, directory, holding)

    @property
    def code(self) -> Path:
        return self.directory / "code"

    async def compile(self, task: JudgingTask) -> CompileResult:
        """Fetches the source and compiles it; raises InternalError."""
        sources = await self._fetch_source(task)
        executable = await self._executable(
            "compile", task.compile_script, task.compile_config.hash
        )
        await asyncio.to_thread(remove_tree, self.code)
        target = make_directory(make_directory(self.code) / PROGRAM_DIR)
        async with self.parts.lanes.acquire() as boxes:
            result = await compile_submission(boxes, task, executable, sources, target)
        (self.directory / "compile.out").write_bytes(result.output)
        (self.directory / "compile.meta").write_text(result.metadata)
        self.is_compiled = result.is_success
        return result

    async def run(self, task: JudgingTask) -> JudgedRun:
        """Runs the compiled program on the task's test case; raises InternalError."""
        run = await self._executable("run", task.run_script, task.run_config.hash)
        compare = None
        if not task.compare_config.combined_run_compare:
            if task.compare_script is None:
                raise InternalError(
                    f"Task {task.id} names no compare script.",
                    Disabled.testcase(task.testcase),
                )
            compare = await self._executable(
                "compare", task.compare_script, task.compare_config.hash
            )
            if not (self.code / RUN_DIR).exists():
                await asyncio.to_thread(copy_executable, run, self.code / RUN_DIR)
        directory = testcase_directory(self.directory, task.testcase)
        await asyncio.to_thread(remove_tree, directory)
        runner = TestcaseRunner(self.parts.lanes, task, self.config, self.code, run, compare)
        async with self.parts.testcases.opened(task.testcase, task.testcase_hash) as files:
            return await runner.judge(files, make_directory(directory))

    async def _fetch_source(self, task: JudgingTask) -> dict[str, bytes]:
        try:
            sources = decoded(await self.parts.server.source_files(task))
            for name in sources:
                check_name(name)
        except LoginRefused:
            raise
        except Refused as fault:
            raise self._no_source(task, str(fault)) from fault
        if not sources:
            raise self._no_source(task, "The server sent no files.")
        return sources

    def _no_source(self, task: JudgingTask, reason: str) -> InternalError:
        description = f"The source of submission {task.submission} can't be fetched."
        return InternalError(description, Disabled.host(self.host), reason)

    async def _executable(self, kind: str, script: str, digest: str | None) -> Path:
        """Executables stay in the cache until the judging ends."""
        executable = ExecutableId(kind, script, digest)
        if executable not in self._executables:
            self._executables[executable] = await self._holding.enter_async_context(
                self.parts.executables.opened(executable, self.config)
            )
        return self._executables[executable]


def copy_executable(source: Path, target: Path) -> None:
    """The run executable and the program must be in one directory, which is mounted."""
    shutil.copytree(source, target)
    target.chmod(0o755)
