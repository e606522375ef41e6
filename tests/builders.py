"""Makes rows for tests by the same functions that the service uses."""

import hashlib
import secrets
from collections.abc import Awaitable, Callable, Container
from pathlib import Path
from typing import Final, TypeVar

from deemster.domain.account import Account, Role
from deemster.domain.execution import (
    ExecutionDetails,
    ExecutionResult,
    NewExecution,
    OutputChunk,
    ProgramIo,
    Stream,
)
from deemster.domain.ids import (
    EXECUTION,
    SUBMISSION,
    WORKER,
    AccountId,
    CodeSessionId,
    ExecutionId,
    ProblemId,
    RevisionDigest,
    SubmissionId,
    WorkerId,
    WorkId,
    new_id,
)
from deemster.domain.job import PriorityClass, Task
from deemster.domain.judge_host import JudgeId
from deemster.domain.judgement import JuryCase, JuryJudgement
from deemster.domain.lifecycle import Event
from deemster.domain.run_status import RunStatus
from deemster.domain.source import pack_files
from deemster.domain.submission import HengTask, NewSubmission, SubmissionDetails
from deemster.domain.verdict import Verdict
from deemster.domain.work import WorkDetails
from deemster.pipeline.verdict.attempt import (
    Caps,
    find_startable,
    settle_execution,
    start_found,
)
from deemster.store import accounts, executions, problems
from deemster.store.artifacts import Artifacts
from deemster.store.lifecycle import NewLease, advance
from deemster.store.pool import Connection, Pool, connection
from deemster.store.problems import ProblemSummary
from deemster.store.submission_inserts import insert
from deemster.store.submissions import submission_details

LANGUAGES = frozenset({"python3", "c", "cpp"})
SOURCE = pack_files({"main.py": b"source"})
D = TypeVar("D", bound=WorkDetails)
STORE_RESULT: Final = """
    WITH stored AS (INSERT INTO host_message (judge_id, body) VALUES ($1, $2))
    SELECT number FROM remote_task WHERE judge_id = $1
"""


async def make_account(pool: Pool, name: str = "ada", role: Role = Role.USER) -> AccountId:
    async with connection(pool) as acquired:
        found = await accounts.find_by_name(acquired, name)
        return (found or await accounts.add(acquired, name, role)).id


async def make_person(pool: Pool, name: str = "ada", role: Role = Role.USER) -> Account:
    return Account(await make_account(pool, name, role), name, role)


async def make_problem(
    pool: Pool, slug: str = "sum", *, text: str = "first", cases: int = 3
) -> ProblemSummary:
    summary = ProblemSummary(
        id=ProblemId(f"prob_{slug}"),
        digest=RevisionDigest(hashlib.sha256(f"{slug} {text}".encode()).hexdigest()),
        title=slug.title(),
        time_ms=1000,
        memory_bytes=256 << 20,
        source_bytes=64 << 10,
        cases=cases,
        languages=None,
        details={},
    )
    async with connection(pool) as acquired, acquired.transaction():
        await problems.publish(acquired, summary)
    return summary


async def make_submission(
    pool: Pool,
    account: AccountId | None = None,
    summary: ProblemSummary | None = None,
    *,
    key: str | None = None,
    request: bytes = b"",
    priority_class: PriorityClass = PriorityClass.PRACTICE,
    language: str = "python3",
    webhook_url: str | None = None,
    source: bytes = SOURCE,
    heng: HengTask | None = None,
) -> SubmissionId:
    summary = summary or await make_problem(pool)
    new = NewSubmission(
        id=SubmissionId(new_id(SUBMISSION)),
        account=account or await make_account(pool),
        problem=summary.id,
        revision=summary.digest,
        language=language,
        main="main.py",
        source=hashlib.sha256(source).hexdigest(),
        request_digest=hashlib.sha256(request or secrets.token_bytes(8)).digest(),
        idempotency_key=key,
        priority_class=priority_class,
        webhook_url=webhook_url,
        heng=heng,
    )
    async with connection(pool) as acquired:
        accepted, _ = await insert(acquired, new, source)
    return accepted.id


async def queue_submission(pool: Pool, submission: SubmissionId) -> None:
    async with connection(pool) as acquired:
        await advance(acquired, Event.PUBLISH, submission, 0)


async def read_submission(acquired: Connection, work: WorkId) -> SubmissionDetails | None:
    return await submission_details(acquired, SubmissionId(work))


async def start(
    pool: Pool,
    work: WorkId,
    worker: WorkerId,
    *,
    task: Task,
    read: Callable[[Connection, WorkId], Awaitable[D | None]],
    lease_s: float,
    caps: Caps,
    languages: Container[str] | None,
) -> D:
    """Starts a task as workers do. Raises LostRace if this worker did not get it."""
    async with connection(pool) as acquired:
        found = await find_startable(acquired, work, task=task, read=read, languages=languages)
        return await start_found(acquired, found, NewLease(worker, lease_s), caps=caps)


async def start_submission(
    pool: Pool,
    submission: SubmissionId,
    worker: WorkerId | None = None,
    *,
    lease_s: float = 15,
    caps: Caps | None = None,
) -> SubmissionDetails:
    return await start(
        pool,
        submission,
        worker or WorkerId(new_id(WORKER)),
        task=Task.RUN,
        read=read_submission,
        lease_s=lease_s,
        caps=caps or Caps(),
        languages=LANGUAGES,
    )


async def make_execution(
    pool: Pool,
    account: AccountId | None = None,
    *,
    io: ProgramIo = ProgramIo.TERMINAL,
    session: CodeSessionId | None = None,
) -> ExecutionId:
    new = NewExecution(
        id=ExecutionId(new_id(EXECUTION)),
        account=account or await make_account(pool),
        language="python3",
        main="main.py",
        files=pack_files({"main.py": b"input()"}),
        request_digest=secrets.token_bytes(32),
        io=io,
        session=session,
    )
    async with connection(pool) as acquired:
        await executions.insert_all(acquired, [new])
    return new.id


async def read_execution(acquired: Connection, work: WorkId) -> ExecutionDetails | None:
    return await executions.details(acquired, ExecutionId(work))


async def start_execution(pool: Pool, execution: ExecutionId) -> ExecutionDetails:
    """Starts its first attempt, or its next one."""
    return await start(
        pool,
        execution,
        WorkerId(new_id(WORKER)),
        task=Task.EXECUTE,
        read=read_execution,
        lease_s=15,
        caps=Caps(),
        languages=LANGUAGES,
    )


async def write_output(
    pool: Pool, details: ExecutionDetails, *contents: bytes, first: int = 1
) -> None:
    """Each is a chunk on stdout."""
    chunks = [
        (details.id, OutputChunk(details.attempt, number, Stream.STDOUT, 10 * number, content))
        for number, content in enumerate(contents, first)
    ]
    async with connection(pool) as acquired:
        await executions.add_output(acquired, chunks)


async def end_execution(pool: Pool, details: ExecutionDetails) -> None:
    await settle_execution(pool, details, ExecutionResult(RunStatus.OK, exit_code=0), [])


async def store_result(writing: Connection, judge_id: JudgeId, body: bytes) -> int:
    """Stores what a host reports, without a job. Returns the number of its task."""
    number: int = await writing.fetchval(STORE_RESULT, judge_id, body)
    return number


def make_artifacts(directory: Path) -> Artifacts:
    return Artifacts.open(None, directory)


def judged(verdict: Verdict = Verdict.ACCEPTED, cases: int = 3) -> JuryJudgement:
    found = [
        JuryCase(f"secret/{number}", number, verdict, cpu_ms=10 * number, memory_kb=1000)
        for number in range(1, cases + 1)
    ]
    return JuryJudgement(verdict, found)
