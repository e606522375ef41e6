"""Runs the tasks that the server gives this host: judges, executes, analyses."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from typing import Final

import structlog

from deemster.domain.errors import Refused
from deemster.domain.execution import (
    CompileResult,
    ExecutionDetails,
    ExecutionLimits,
    ProgramIo,
    TypedInput,
    lower_of,
)
from deemster.domain.ids import AccountId, ExecutionId
from deemster.domain.judgement import OnCase
from deemster.domain.lifecycle import State
from deemster.domain.retry_policy import is_worth_retrying
from deemster.domain.source import Source, unpack_files
from deemster.domain.storable_text import storable
from deemster.domain.stored_analysis import AnalysisRecord
from deemster.judgehost.output_sender import SendUpdate, sent_output
from deemster.judgehost.test_data import HostRevisions
from deemster.pipeline.execute.program_run import ProgramRun
from deemster.pipeline.remote.messages import (
    ExecuteOutcome,
    Failure,
    Finish,
    HostTask,
    JudgeOutcome,
    TaskKind,
)
from deemster.pipeline.work.analyze_program import ProgramAnalyzer
from deemster.pipeline.work.judge_program import ProgramJudge
from deemster.programs.build.cached_compiler import BuildTools
from deemster.sandbox.boxes import Boxes

log = structlog.get_logger()

NOBODY: Final = AccountId("")
"""The server does not tell hosts whose program it is."""
ERROR_CHARACTERS: Final = 10_000


class NoTypedInput:
    """Programs whose input is typed run on local workers only."""

    async def follow(self, _: ExecutionId) -> AsyncIterator[TypedInput]:
        raise Refused("A judge host can't run programs whose input is typed.")
        yield


@dataclass(frozen=True, slots=True)
class TaskRunner:
    build_tools: BuildTools
    judge: ProgramJudge
    analyzer: ProgramAnalyzer
    boxes: Boxes
    """Boxes in which executions run."""
    revisions: HostRevisions
    send_update: SendUpdate
    most: ExecutionLimits
    """The ceiling of this host's operator, whatever the server asks for."""

    async def run(self, task: HostTask, on_part: OnCase) -> Finish:
        """Whatever fails, the server gets a result."""
        try:
            if task.data is not None:
                self.revisions.offer(task.data)
            match task.kind:
                case TaskKind.JUDGE:
                    return Finish(judge=await self._judge(task, on_part))
                case TaskKind.EXECUTE:
                    return Finish(execute=await self._execute(task))
                case TaskKind.ANALYZE:
                    return Finish(analyze=await self._analyze(task))
        except Exception as fault:
            log.warning("judgehost.task_failed", judgeId=task.judge_id, exc_info=fault)
            return failed(fault)

    async def prepare(self, task: HostTask) -> None:
        """Fetches test data, and compiles the program if a compile slot is free, for a task
        that waits for a slot. It holds nothing: tasks that run may need the memory.
        """
        if task.kind is not TaskKind.JUDGE or task.data is None:
            return
        try:
            self.revisions.offer(task.data)
            ready = self.judge.ready_ahead(task.data.digest, task.language, source_of(task))
            async with ready:
                pass
        except Exception as fault:  # the run meets it again, and tells the server
            log.info("judgehost.task_not_prepared", judgeId=task.judge_id, exc_info=fault)

    async def _judge(self, task: HostTask, on_part: OnCase) -> JudgeOutcome:
        if task.judge is None or task.data is None:
            raise Refused("A task to judge has no limits or no test data.")
        result = await self.judge.judge(
            task.data.digest,
            task.language,
            source_of(task),
            time_ms=task.judge.time_ms,
            time_factor=task.judge.time_factor,
            tries=task.attempt,
            on_part=on_part,
        )
        judgement = replace(result.judgement, time_factor=task.judge.time_factor)
        return JudgeOutcome(judgement=judgement, show_groups=result.show_groups)

    async def _execute(self, task: HostTask) -> ExecuteOutcome:
        if task.execute is None:
            raise Refused("A task to execute has no limits.")
        details = execution_details(task, self.most)
        is_live = details.options.runs == 1
        async with sent_output(task, self.send_update, is_live=is_live) as output:
            program = ProgramRun(
                self.build_tools,
                self.boxes,
                details,
                output,
                NoTypedInput(),
                0,
                tell_with_result,
            )
            result = await program.run()
        return ExecuteOutcome(result=result, output=output.pending)

    async def _analyze(self, task: HostTask) -> AnalysisRecord:
        revision = task.data.digest if task.data is not None else None
        return await self.analyzer.analyze_program(task.language, source_of(task), revision)


def source_of(task: HostTask) -> Source:
    return Source(unpack_files(task.files), main=task.main)


def execution_details(task: HostTask, most: ExecutionLimits) -> ExecutionDetails:
    """No limit is above `most`, whatever the server asks for."""
    assert task.execute is not None, "the task is to execute"
    return ExecutionDetails(
        id=ExecutionId(task.work),
        state=State.RUNNING,
        attempt=task.attempt,
        account=NOBODY,
        language=task.language,
        main=task.main,
        files=task.files,
        stdin=task.execute.stdin,
        args=task.execute.args,
        io=ProgramIo.BATCH,
        limits=lower_of(task.execute.limits, most),
        options=task.execute.options,
    )


async def tell_with_result(_: CompileResult) -> None:
    """Only programs whose input is typed tell earlier how they were compiled."""


def failed(fault: BaseException) -> Finish:
    while isinstance(fault, BaseExceptionGroup):
        fault = fault.exceptions[0]
    error = storable(f"{type(fault).__name__}: {fault}"[:ERROR_CHARACTERS])
    return Finish(failure=Failure(error=error, is_refusal=not is_worth_retrying(fault)))
