"""The stage of executions: reads one, compiles and runs its program, and settles its result."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import structlog

from deemster.domain.errors import Unavailable
from deemster.domain.execution import (
    CompileResult,
    ExecutionDetails,
    ExecutionResult,
    OutputChunk,
    ProgramIo,
    status_of,
)
from deemster.domain.ids import ExecutionId, WorkId
from deemster.domain.job import Task
from deemster.domain.judgement import OnCase
from deemster.domain.lifecycle import State
from deemster.domain.limits import COMPILE_S
from deemster.pipeline.execute.language_servers import LanguageServers
from deemster.pipeline.execute.output_log import OutputLog
from deemster.pipeline.execute.output_recorder import OutputRecorder
from deemster.pipeline.execute.program_run import ProgramRun
from deemster.pipeline.execute.typed_input import TypedInputs
from deemster.pipeline.verdict.attempt import Full, settle_execution
from deemster.programs.build.cached_compiler import BuildTools
from deemster.sandbox.boxes import Boxes
from deemster.store import executions
from deemster.store.notifications import notify_output
from deemster.store.pool import Connection, Pool, transaction

log = structlog.get_logger()

ExecutionOutcome = tuple[ExecutionResult, Sequence[OutputChunk]]
"""The result, and the output that is not stored yet."""


@dataclass(frozen=True, slots=True)
class ExecuteStage:
    pool: Pool
    build_tools: BuildTools
    boxes: Boxes
    recorder: OutputRecorder
    inputs: TypedInputs
    idle_s: float
    """A live program is ended when nothing was typed or printed for this time."""
    language_servers: LanguageServers | None = None
    """None: this worker runs no language servers."""
    task: Task = Task.EXECUTE

    async def read(self, connection: Connection, work: WorkId) -> ExecutionDetails | None:
        found = await executions.details(connection, ExecutionId(work))
        if found is not None and found.io is ProgramIo.LANGUAGE_SERVER:
            servers = self.language_servers
            if servers is None or not servers.has_room:
                raise Full(f"{work} has to wait for a worker with a free language server.")
        return found

    def parts(self, details: ExecutionDetails) -> int:
        return 0

    def lock_s(self, details: ExecutionDetails) -> float:
        return COMPILE_S + details.limits.wall_ms / 1000 + 5

    def deadline_s(self, details: ExecutionDetails) -> float:
        return details.deadline_s()

    async def run(self, details: ExecutionDetails, on_part: OnCase) -> ExecutionOutcome:
        async with self.recorder.recording(
            details.id,
            details.attempt,
            is_live=details.io is not ProgramIo.BATCH or details.options.runs == 1,
        ) as output:
            result = await self._run_program(details, output)
        return result, output.pending

    async def _run_program(
        self, details: ExecutionDetails, output: OutputLog
    ) -> ExecutionResult:
        if details.io is ProgramIo.LANGUAGE_SERVER:
            assert self.language_servers is not None, "`read` found one"
            return await self.language_servers.run(details, self.inputs, output)
        program = ProgramRun(
            self.build_tools,
            self.boxes,
            details,
            output,
            self.inputs,
            self.idle_s,
            partial(self._tell_compiled, details),
        )
        return await program.run()

    async def _tell_compiled(self, details: ExecutionDetails, result: CompileResult) -> None:
        try:
            async with transaction(self.pool) as writing:
                await executions.record_compile(writing, details.id, details.attempt, result)
                await notify_output(writing, [details.id])
        except Unavailable as fault:
            # It is told with the result, too.
            log.warning("compile.not_told", executionId=details.id, error=str(fault))

    async def settle(self, details: ExecutionDetails, result: ExecutionOutcome) -> str:
        found, output = result
        await settle_execution(self.pool, details, found, output)
        return str(status_of(State.COMPLETED, found))
