"""Q1, A10, H1: the executor loses races against the relay and a cancel, and tells events."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import REGISTRY

from deemster.domain.errors import LostRace
from deemster.domain.ids import WORKER, SubmissionId, WorkerId, WorkId, new_id
from deemster.domain.job import Task
from deemster.domain.judgement import JuryJudgement, OnCase
from deemster.domain.lifecycle import Event, State
from deemster.domain.submission import SubmissionDetails
from deemster.domain.verdict import Verdict
from deemster.pipeline.verdict.attempt import Caps, settle
from deemster.pipeline.verdict.cancel import cancel
from deemster.pipeline.work.heartbeat import RunningJobs
from deemster.pipeline.work.job_executor import JobExecutor, ReadyRun
from deemster.store.lifecycle import advance, lock_state
from deemster.store.pool import Connection, Pool, connection, transaction
from tests.builders import (
    LANGUAGES,
    make_artifacts,
    make_submission,
    read_submission,
    start_submission,
)
from tests.waiting import PATIENCE_S, until

WAITS = """
SELECT count(*) FROM pg_stat_activity
 WHERE datname = current_database() AND wait_event_type = 'Lock'
"""


def counting() -> Callable[..., float]:
    """Reads how much metrics of this process grew, for the language of the builders."""
    metrics = [*REGISTRY.collect()]
    before = {
        (sample.name, *sorted(sample.labels.items())): sample.value
        for metric in metrics
        for sample in metric.samples
    }

    def read(name: str, **labels: str) -> float:
        given = {**labels, "language": "python3"}
        now = REGISTRY.get_sample_value(name, given) or 0.0
        return now - before.get((name, *sorted(given.items())), 0.0)

    return read


async def test_a_job_delivered_while_the_relay_marks_it_as_sent_is_started(
    pool: Pool,
) -> None:
    submission = await make_submission(pool)
    async with (
        asyncio.timeout(PATIENCE_S),
        asyncio.TaskGroup() as group,
        connection(pool) as watching,
        transaction(pool) as relay,
    ):
        await advance(relay, Event.PUBLISH, submission, 0)
        starting = group.create_task(start_submission(pool, submission))
        # Not by the relay's own: a transaction sees one and the same list until it ends.
        await until(lambda: watching.fetchval(WAITS))
    assert starting.result().attempt == 1
    async with connection(pool) as acquired:
        assert await lock_state(acquired, submission) == (State.RUNNING, 1)


class EndlessStage:
    """Reads submissions, and never ends one."""

    task = Task.RUN

    async def read(self, acquired: Connection, work: WorkId) -> SubmissionDetails | None:
        return await read_submission(acquired, work)

    def parts(self, details: SubmissionDetails) -> int:
        return details.cases

    def lock_s(self, details: SubmissionDetails) -> float:
        return 15

    def deadline_s(self, details: SubmissionDetails) -> float:
        return 600

    async def run(self, details: SubmissionDetails, on_part: OnCase) -> None:
        await asyncio.get_running_loop().create_future()

    async def settle(self, details: SubmissionDetails, result: None) -> str:
        raise AssertionError("it can't end")


def make_executor(
    pool: Pool, stage: EndlessStage, runs: RunningJobs, **more: Any
) -> JobExecutor[SubmissionDetails, None]:
    return JobExecutor(
        pool=pool,
        stage=stage,
        running_jobs=runs,
        caps=Caps(),
        languages=LANGUAGES,
        lease_s=15,
        max_tries=3,
        **more,
    )


async def test_a_submission_cancelled_as_soon_as_it_is_judged_ends(pool: Pool) -> None:
    submission = await make_submission(pool)
    runs = RunningJobs(pool, WorkerId(new_id(WORKER)))

    class CancelledStage(EndlessStage):
        async def run(self, details: SubmissionDetails, on_part: OnCase) -> None:
            await cancel(pool, submission)
            runs.abandon(submission)
            await super().run(details, on_part)

    execution = make_executor(
        pool,
        CancelledStage(),
        runs,
    )
    async with asyncio.timeout(PATIENCE_S):
        await execution.run(submission, lambda _lease_s: None)
    async with connection(pool) as acquired:
        assert await lock_state(acquired, submission) == (State.CANCELLED, 1)


@pytest.mark.parametrize("is_cancelled", [True, False])
async def test_a_job_that_is_taken_away_while_it_is_started_never_runs(
    pool: Pool, is_cancelled: bool
) -> None:
    """A10, Q14: neither one that was cancelled nor one that the ending worker gives back."""
    submission = await queued_submission(pool)
    runs = RunningJobs(pool, WorkerId(new_id(WORKER)))
    steps: list[str] = []

    class WatchedStage(EndlessStage):
        async def run(self, details: SubmissionDetails, on_part: OnCase) -> None:
            steps.append("run")
            await super().run(details, on_part)

    @asynccontextmanager
    async def slot() -> AsyncIterator[None]:
        yield
        steps.append("leave slot")

    def take_away() -> None:
        if is_cancelled:
            runs.abandon(submission)
        else:
            runs.give_back(lambda _: True)

    execution = make_executor(pool, WatchedStage(), runs, on_start=take_away)
    async with asyncio.timeout(PATIENCE_S):
        await execution.run(submission, lambda _lease_s: None, slot())
    assert (steps, len(runs)) == (["leave slot"], 0)
    async with connection(pool) as acquired:
        state = State.RUNNING if is_cancelled else State.QUEUED
        assert await lock_state(acquired, submission) == (state, 1)


async def test_clients_are_told_of_the_start_and_of_the_verdict_after_their_commits(
    pool: Pool, tmp_path: Path
) -> None:
    """H1: each call comes when the event can be read by others. O1: the metrics count it."""
    submission = await make_submission(pool)
    count = counting()
    told: list[str] = []
    told_before_judging: list[str] = []

    class AcceptingStage(EndlessStage):
        async def run(self, details: SubmissionDetails, on_part: OnCase) -> None:
            told_before_judging.extend(told)
            async with connection(pool) as acquired:
                assert await lock_state(acquired, submission) == (State.RUNNING, 1)

        async def settle(self, details: SubmissionDetails, result: None) -> str:
            accepted = JuryJudgement(Verdict.ACCEPTED)
            await settle(pool, make_artifacts(tmp_path), details, accepted)
            return "accepted"

    execution = make_executor(
        pool,
        AcceptingStage(),
        RunningJobs(pool, WorkerId(new_id(WORKER))),
        on_start=lambda: told.append("start"),
        on_end=lambda: told.append("end"),
        on_settled=lambda settled: told.append(f"settled {settled}"),
    )
    await execution.run(submission, lambda _lease_s: None)
    assert told_before_judging == ["start"]
    assert told == ["start", f"settled {submission}"]
    assert count("deemster_verdicts_total", verdict="accepted") == 1
    for name in ("queue_wait", "run", "time_to_verdict"):
        assert count(f"deemster_{name}_seconds_count", queue="default") == 1, name
    async with connection(pool) as acquired:
        assert await lock_state(acquired, submission) == (State.COMPLETED, 1)


async def queued_submission(pool: Pool) -> SubmissionId:
    submission = await make_submission(pool)
    async with connection(pool) as acquired:
        await advance(acquired, Event.PUBLISH, submission, 0)
    return submission


async def test_q1_a_run_that_began_before_its_start_ends_if_another_worker_has_the_job(
    pool: Pool,
) -> None:
    """Q1, S2: neither its result nor its end is seen."""
    submission = await queued_submission(pool)
    began, ended = asyncio.Event(), asyncio.Event()
    runs = RunningJobs(pool, WorkerId(new_id(WORKER)))
    told: list[str] = []

    class WatchedStage(EndlessStage):
        async def run(self, details: SubmissionDetails, on_part: OnCase) -> None:
            began.set()
            try:
                await super().run(details, on_part)
            finally:
                ended.set()

    stage = WatchedStage()

    @asynccontextmanager
    async def start_elsewhere(
        _: SubmissionDetails,
    ) -> AsyncIterator[ReadyRun[SubmissionDetails, None]]:
        await start_submission(pool, submission)
        yield stage.run

    execution = make_executor(
        pool,
        stage,
        runs,
        runs_while_starting=True,
        ready=start_elsewhere,
        on_start=lambda: told.append("start"),
    )
    async with asyncio.timeout(PATIENCE_S):
        with pytest.raises(LostRace):
            await execution.run(submission, lambda _lease_s: None)
    assert (began.is_set(), ended.is_set()) == (True, True)
    assert (len(runs), told) == (0, [])
    async with connection(pool) as acquired:
        assert await lock_state(acquired, submission) == (State.RUNNING, 1)


@pytest.mark.parametrize("make", [queued_submission, make_submission])
async def test_s2_a_run_that_ends_before_its_start_is_settled_after_it(
    pool: Pool, tmp_path: Path, make: Callable[[Pool], Awaitable[SubmissionId]]
) -> None:
    """S2, Q5: meanwhile the worker has no lease, which no heartbeat takes for a lost one. The
    same if the relay has sent the job, but has not marked it as sent yet.
    """
    submission = await make(pool)
    runs = RunningJobs(pool, WorkerId(new_id(WORKER)))
    judged = asyncio.Event()

    class AcceptingStage(EndlessStage):
        async def run(self, details: SubmissionDetails, on_part: OnCase) -> None:
            await runs.beat()
            judged.set()

        async def settle(self, details: SubmissionDetails, result: None) -> str:
            accepted = JuryJudgement(Verdict.ACCEPTED)
            await settle(pool, make_artifacts(tmp_path), details, accepted)
            return "accepted"

    execution = make_executor(
        pool,
        AcceptingStage(),
        runs,
        runs_while_starting=True,
    )
    async with (
        asyncio.timeout(PATIENCE_S),
        asyncio.TaskGroup() as group,
        transaction(pool) as locking,
    ):
        await lock_state(locking, submission)
        running = group.create_task(execution.run(submission, lambda _lease_s: None))
        await judged.wait()
        assert not running.done()
    async with connection(pool) as acquired:
        assert await lock_state(acquired, submission) == (State.COMPLETED, 1)
        events = await acquired.fetch(
            "SELECT event FROM work_event WHERE work_id = $1 ORDER BY id", submission
        )
    assert [row["event"] for row in events] == ["submit", "publish", "start", "complete"]


async def test_what_was_made_ready_is_run_and_released_before_the_result_is_recorded(
    pool: Pool, tmp_path: Path
) -> None:
    submission = await queued_submission(pool)
    runs = RunningJobs(pool, WorkerId(new_id(WORKER)))
    steps: list[str] = []

    class AcceptingStage(EndlessStage):
        async def settle(self, details: SubmissionDetails, result: None) -> str:
            steps.append("settle")
            accepted = JuryJudgement(Verdict.ACCEPTED)
            await settle(pool, make_artifacts(tmp_path), details, accepted)
            return "accepted"

    @asynccontextmanager
    async def ready(
        found: SubmissionDetails,
    ) -> AsyncIterator[ReadyRun[SubmissionDetails, None]]:
        async def run(details: SubmissionDetails, _: OnCase) -> None:
            steps.append(f"run attempt {details.attempt}")

        steps.append(f"fetch for attempt {found.attempt}")
        yield run
        steps.append("release")

    @asynccontextmanager
    async def slot() -> AsyncIterator[None]:
        steps.append("enter slot")
        yield
        steps.append("leave slot")

    execution = make_executor(pool, AcceptingStage(), runs, ready=ready)
    async with asyncio.timeout(PATIENCE_S):
        await execution.run(submission, lambda _lease_s: None, slot())
    assert steps == [
        "fetch for attempt 0",
        "enter slot",
        "run attempt 1",
        "leave slot",
        "release",
        "settle",
    ]


async def test_a_run_that_could_not_be_made_ready_is_run_by_its_stage(
    pool: Pool, tmp_path: Path
) -> None:
    """The stage meets the fault again, and reports it."""
    submission = await queued_submission(pool)
    runs = RunningJobs(pool, WorkerId(new_id(WORKER)))

    class AcceptingStage(EndlessStage):
        async def run(self, details: SubmissionDetails, on_part: OnCase) -> None:
            pass

        async def settle(self, details: SubmissionDetails, result: None) -> str:
            accepted = JuryJudgement(Verdict.ACCEPTED)
            await settle(pool, make_artifacts(tmp_path), details, accepted)
            return "accepted"

    @asynccontextmanager
    async def ready(_: SubmissionDetails) -> AsyncIterator[ReadyRun[SubmissionDetails, None]]:
        raise OSError("the disk is full")
        yield

    execution = make_executor(pool, AcceptingStage(), runs, ready=ready)
    async with asyncio.timeout(PATIENCE_S):
        await execution.run(submission, lambda _lease_s: None)
    async with connection(pool) as acquired:
        assert await lock_state(acquired, submission) == (State.COMPLETED, 1)
