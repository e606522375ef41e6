"""P1, S5, Q3, I3: stages follow a verdict, each once, and never change or delay it."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from deemster.domain.errors import Conflict, LimitReached, LostRace, Refused, Unavailable
from deemster.domain.ids import WORKER, RejudgingId, SubmissionId, WorkerId, WorkId, new_id
from deemster.domain.job import StagePolicy, Task
from deemster.domain.lifecycle import IN_STAGE, Event, State
from deemster.domain.retry_policy import MaxTries, backoff_s, pause_s
from deemster.domain.stage import StageDetails
from deemster.domain.stored_analysis import AnalysisRecord, RequestedAnalysis, compress
from deemster.domain.submission import SubmissionDetails, SubmissionView
from deemster.domain.verdict import Verdict
from deemster.pipeline.outbox.reconcile import resend
from deemster.pipeline.remote.tasks import read_details
from deemster.pipeline.verdict import follow_up, rejudging_set
from deemster.pipeline.verdict.attempt import (
    Caps,
    settle,
    settle_analysis,
    settle_requested_analysis,
)
from deemster.pipeline.verdict.cancel import cancel
from deemster.pipeline.verdict.rejudge import rejudge
from deemster.pipeline.verdict.retry import rescue, rescue_one, retry_or_fail
from deemster.pipeline.work.finalize_stage import FinalizeStage
from deemster.store import analyses, counters, dead_letters, leases, rejudgings, submissions
from deemster.store.audit import Actor
from deemster.store.counters import ProblemCounts
from deemster.store.lifecycle import StateChanged, advance
from deemster.store.pool import Connection, Pool, connection, transaction
from deemster.store.rejudgings import RejudgingFilter
from deemster.store.stages import count_scores, find_mismatches, stage_details
from deemster.store.submissions import archive
from tests.builders import (
    judged,
    make_artifacts,
    make_submission,
    start,
    start_submission,
)
from tests.store.conftest import is_waiting_for_a_lock
from tests.waiting import until

ROOT = Actor("root")
ALL = frozenset({Task.ANALYZE, Task.EVALUATE})
ONLY_ANALYSIS = StagePolicy(default=frozenset({Task.ANALYZE}), available=ALL)
EVERYTHING = StagePolicy(default=ALL, available=ALL)
TRIES = 6
RECORD = AnalysisRecord(
    sarif=compress("{}"),
    scores={"style": 80, "security": None},
    tools={"ruff": "1"},
    findings=2,
)


async def judge(pool: Pool, directory: Path, policy: StagePolicy) -> SubmissionDetails:
    details = await start_submission(
        pool, await make_submission(pool, webhook_url="https://example.org/hook")
    )
    artifacts = make_artifacts(directory)
    await settle(pool, artifacts, details, judged(Verdict.ACCEPTED), stages=policy)
    return details


async def read(acquired: Connection, work: WorkId) -> StageDetails | None:
    return await stage_details(acquired, SubmissionId(work))


async def start_stage(
    pool: Pool, submission: SubmissionId, task: Task, *, lease_s: float = 15
) -> StageDetails:
    return await start(
        pool,
        submission,
        WorkerId(new_id(WORKER)),
        task=task,
        read=read,
        lease_s=lease_s,
        caps=Caps(),
        languages=None,
    )


async def end_stage(pool: Pool, details: StageDetails) -> None:
    async with transaction(pool) as writing:
        await follow_up.end_stage(writing, details)
        if details.task is Task.ANALYZE:
            await analyses.record(writing, details.id, details.attempt, RECORD)


async def view(pool: Pool, submission: SubmissionId) -> SubmissionView:
    async with connection(pool) as acquired:
        found = await submissions.get(acquired, submission)
    assert found is not None
    return found


async def column(pool: Pool, statement: str, *values: object) -> Sequence[object]:
    async with connection(pool) as acquired:
        return [row[0] for row in await acquired.fetch(statement, *values)]


async def unsent(pool: Pool) -> Sequence[object]:
    return await column(
        pool, "SELECT task FROM outbox WHERE task <> 'submission:run' ORDER BY id"
    )


async def events(pool: Pool, submission: SubmissionId) -> Sequence[object]:
    return await column(
        pool, "SELECT event FROM work_event WHERE work_id = $1 ORDER BY id", submission
    )


async def webhooks(pool: Pool) -> Sequence[object]:
    return await column(pool, "SELECT kind FROM webhook_delivery ORDER BY kind DESC")


async def test_s5_the_verdict_and_the_next_job_are_written_together(
    pool: Pool, tmp_path: Path
) -> None:
    """S5, P1: the verdict is counted and told before any stage has begun."""
    details = await judge(pool, tmp_path, EVERYTHING)
    found = await view(pool, details.id)
    assert (found.state, found.verdict) == (State.ANALYZING, Verdict.ACCEPTED)
    assert found.judged_at is not None
    assert found.finished_at is None
    assert await unsent(pool) == [Task.ANALYZE]
    assert await webhooks(pool) == ["submission.finished"]
    async with connection(pool) as acquired:
        assert (await counters.problem_counts(acquired, details.problem)) == ProblemCounts(1, 1)
        assert await counters.find_mismatches(acquired) == []


async def test_a_stale_verdict_leaves_no_follow_up_job(pool: Pool, tmp_path: Path) -> None:
    """P1: what is written together is refused together."""
    details = await start_submission(pool, await make_submission(pool))
    await cancel(pool, details.id)
    artifacts = make_artifacts(tmp_path)
    with pytest.raises(StateChanged):
        await settle(pool, artifacts, details, judged(Verdict.ACCEPTED), stages=EVERYTHING)
    assert await unsent(pool) == []


async def test_p1_all_stages_follow_each_other_and_the_submission_ends_once(
    pool: Pool, tmp_path: Path
) -> None:
    """P1, I3, S6: each step is an event; webhooks and sums are written once."""
    submission = (await judge(pool, tmp_path, EVERYTHING)).id
    for task in (Task.ANALYZE, Task.EVALUATE):
        await end_stage(pool, await start_stage(pool, submission, task))
    last = await start_stage(pool, submission, Task.FINALIZE)
    stage = FinalizeStage(pool)
    await stage.settle(last, None)
    with pytest.raises(StateChanged):
        await stage.settle(last, None)
    assert (await view(pool, submission)).state is State.COMPLETED
    assert await events(pool, submission) == [
        *("submit", "publish", "start", "analyze", "stage_start", "evaluate", "stage_start"),
        *("finalize", "stage_start", "complete"),
    ]
    assert await unsent(pool) == [Task.ANALYZE, Task.EVALUATE, Task.FINALIZE]
    assert await webhooks(pool) == ["submission.finished", "submission.evaluated"]
    sums = "SELECT category || ' ' || analyzed || ' ' || points FROM analysis_tally"
    assert await column(pool, sums) == ["style 1 80"]
    assert await column(pool, "SELECT count(*) FROM lease") == [0]


async def test_without_stages_a_verdict_ends_the_submission_at_once(
    pool: Pool, tmp_path: Path
) -> None:
    submission = (await judge(pool, tmp_path, StagePolicy(available=ALL))).id
    found = await view(pool, submission)
    assert (found.state, found.judged_at) == (State.COMPLETED, None)
    assert await unsent(pool) == []
    assert await webhooks(pool) == ["submission.finished"]


@pytest.mark.parametrize(
    ("default", "problem", "contest", "expected"),
    [
        ({Task.ANALYZE}, None, None, Task.ANALYZE),
        ({Task.ANALYZE}, [], None, None),
        ((), [Task.EVALUATE], None, Task.EVALUATE),
        ((), [Task.EVALUATE], [Task.ANALYZE], Task.ANALYZE),
        ({Task.ANALYZE}, [Task.ANALYZE], [], None),
    ],
)
async def test_a_contest_and_a_problem_decide_which_stages_run(
    pool: Pool,
    tmp_path: Path,
    default: set[Task],
    problem: list[Task] | None,
    contest: list[Task] | None,
    expected: Task | None,
) -> None:
    """P1: the contest comes before the problem, which comes before the installation."""
    details = await start_submission(pool, await make_submission(pool))
    async with connection(pool) as acquired:
        await acquired.execute("UPDATE problem SET stages = $1", problem)
        await acquired.execute(
            """INSERT INTO contest (id, title, opens_at, closes_at, problems, stages)
               VALUES ('con_1', 'x', now(), now() + interval '1 hour', '{}', $1)""",
            contest,
        )
        await acquired.execute("UPDATE submission SET contest_id = 'con_1'")
    policy = StagePolicy(default=frozenset(default), available=ALL)
    artifacts = make_artifacts(tmp_path)
    await settle(pool, artifacts, details, judged(Verdict.ACCEPTED), stages=policy)
    assert await unsent(pool) == ([expected] if expected else [])


async def test_a_stage_that_no_worker_can_run_is_left_out(pool: Pool, tmp_path: Path) -> None:
    policy = StagePolicy(default=ALL, available=frozenset({Task.ANALYZE}))
    submission = (await judge(pool, tmp_path, policy)).id
    await end_stage(pool, await start_stage(pool, submission, Task.ANALYZE))
    assert await unsent(pool) == [Task.ANALYZE, Task.FINALIZE]


async def test_q1_a_job_that_is_delivered_twice_is_done_once(
    pool: Pool, tmp_path: Path
) -> None:
    """Q1: neither while the stage runs, nor after it, and not for another stage."""
    submission = (await judge(pool, tmp_path, ONLY_ANALYSIS)).id
    running = await start_stage(pool, submission, Task.ANALYZE)
    for task in (Task.ANALYZE, Task.FINALIZE):
        with pytest.raises(StateChanged):
            await start_stage(pool, submission, task)
    await end_stage(pool, running)
    with pytest.raises(StateChanged):
        await start_stage(pool, submission, Task.ANALYZE)


async def test_q3_a_stage_is_retried_and_then_left_out(pool: Pool, tmp_path: Path) -> None:
    """Q3, Q7, S5: after five retries a dead letter is left; the verdict stays."""
    submission = (await judge(pool, tmp_path, ONLY_ANALYSIS)).id
    for tries in range(1, TRIES):
        running = await start_stage(pool, submission, Task.ANALYZE)
        assert running.tries == tries
        assert await retry_or_fail(pool, running, Unavailable("no"), max_tries=TRIES)
    last = await start_stage(pool, submission, Task.ANALYZE)
    assert not await retry_or_fail(pool, last, Unavailable("no"), max_tries=TRIES)
    found = await view(pool, submission)
    assert (found.state, found.verdict) == (State.ANALYZING, Verdict.ACCEPTED)
    assert (await unsent(pool))[-1] == Task.FINALIZE
    async with connection(pool) as acquired:
        [letter] = await dead_letters.page(acquired)
        assert (letter.work, letter.task) == (submission, Task.ANALYZE)
        assert await analyses.stage_has_failed(acquired, submission)
    await end_stage(pool, await start_stage(pool, submission, Task.FINALIZE))
    assert (await view(pool, submission)).state is State.COMPLETED


async def test_q3_a_refusal_ends_a_stage_at_once(pool: Pool, tmp_path: Path) -> None:
    submission = (await judge(pool, tmp_path, EVERYTHING)).id
    running = await start_stage(pool, submission, Task.ANALYZE)
    assert not await retry_or_fail(pool, running, Refused("no language"), max_tries=TRIES)
    assert (await view(pool, submission)).state is State.AI_EVALUATING


def test_q3_pauses_between_tries_of_a_stage_grow_and_differ() -> None:
    pauses = [[backoff_s(Task.ANALYZE, tries) for _ in range(50)] for tries in range(1, TRIES)]
    for tries, each in enumerate(pauses):
        assert 2**tries <= min(each) < max(each) <= 3 * 2**tries
    assert backoff_s(Task.RUN, 3) == 8
    busy = LimitReached("The model is busy.", retry_after_s=90)
    assert pause_s(Task.EVALUATE, 1, busy) == 90


async def test_q6_a_stage_of_a_silent_worker_is_run_again_and_fenced(
    pool: Pool, tmp_path: Path
) -> None:
    """Q6, S2: the first worker's result comes too late."""
    submission = (await judge(pool, tmp_path, ONLY_ANALYSIS)).id
    lost = await start_stage(pool, submission, Task.ANALYZE, lease_s=1e-6)
    assert await rescue(pool, max_tries=MaxTries(3, TRIES)) == 1
    again = await start_stage(pool, submission, Task.ANALYZE)
    with pytest.raises(StateChanged):
        await end_stage(pool, lost)
    await end_stage(pool, again)
    assert await column(pool, "SELECT attempt FROM analysis") == [again.attempt]


async def test_q6_a_stage_whose_workers_all_die_is_left_out(pool: Pool, tmp_path: Path) -> None:
    submission = (await judge(pool, tmp_path, ONLY_ANALYSIS)).id
    await start_stage(pool, submission, Task.ANALYZE, lease_s=1e-6)
    assert await rescue(pool, max_tries=MaxTries(3, 1)) == 1
    assert (await unsent(pool))[-1] == Task.FINALIZE


async def test_q6_a_stage_whose_job_the_queue_lost_is_sent_again(
    pool: Pool, tmp_path: Path
) -> None:
    submission = (await judge(pool, tmp_path, ONLY_ANALYSIS)).id
    async with connection(pool) as acquired:
        await acquired.execute("UPDATE outbox SET sent_at = now() - interval '1 hour'")
        await acquired.execute("UPDATE work SET changed_at = now() - interval '1 hour'")
        [lost] = await submissions.list_possibly_lost(acquired, quiet_s=10, limit=5)
    assert (lost.work, lost.task) == (submission, Task.ANALYZE)
    await resend(pool, lost)
    assert await unsent(pool) == [Task.ANALYZE, Task.ANALYZE]
    running = await start_stage(pool, submission, Task.ANALYZE)
    async with connection(pool) as acquired:
        await acquired.execute("UPDATE outbox SET sent_at = now() - interval '1 hour'")
        await acquired.execute("UPDATE work SET changed_at = now() - interval '1 hour'")
        assert await submissions.list_possibly_lost(acquired, quiet_s=10, limit=5) == []
    await resend(pool, lost)  # it was started meanwhile
    assert len(await unsent(pool)) == 2
    await end_stage(pool, running)


async def test_s2_the_result_of_a_stage_that_was_given_up_ends_no_other_stage(
    pool: Pool, tmp_path: Path
) -> None:
    """S2, P1: the worker was silent for too long, and its analysis comes after all."""
    submission = (await judge(pool, tmp_path, EVERYTHING)).id
    late = await start_stage(pool, submission, Task.ANALYZE, lease_s=1e-6)
    assert await rescue(pool, max_tries=MaxTries(3, 1)) == 1
    with pytest.raises(StateChanged):
        await settle_analysis(pool, late, RECORD)
    with pytest.raises(StateChanged):
        await retry_or_fail(pool, late, Unavailable("no"), max_tries=TRIES)
    assert await unsent(pool) == [Task.ANALYZE, Task.EVALUATE]
    await end_stage(pool, await start_stage(pool, submission, Task.EVALUATE))
    assert (await unsent(pool))[-1] == Task.FINALIZE


async def test_s2_a_stage_is_settled_once(pool: Pool, tmp_path: Path) -> None:
    """S2, I3: a worker repeats it if it does not learn that its commit succeeded."""
    submission = (await judge(pool, tmp_path, EVERYTHING)).id
    first = await start_stage(pool, submission, Task.ANALYZE)
    await settle_analysis(pool, first, RECORD)
    with pytest.raises(StateChanged):
        await settle_analysis(pool, first, RECORD)
    assert await unsent(pool) == [Task.ANALYZE, Task.EVALUATE]
    last = await start_stage(pool, submission, Task.EVALUATE)
    await end_stage(pool, last)
    with pytest.raises(StateChanged):
        await end_stage(pool, last)
    assert (await unsent(pool))[2:] == [Task.FINALIZE]


async def test_s2_a_stage_that_was_settled_late_is_not_rescued(
    pool: Pool, tmp_path: Path
) -> None:
    """S2, Q6: neither tried again nor left out."""
    submission = (await judge(pool, tmp_path, ONLY_ANALYSIS)).id
    late = await start_stage(pool, submission, Task.ANALYZE, lease_s=1e-6)
    async with connection(pool) as acquired:
        [stale] = await leases.find_stale(acquired, limit=5)
    await settle_analysis(pool, late, RECORD)
    for max_tries in (1, TRIES):
        with pytest.raises(LostRace):
            async with transaction(pool) as writing:
                await rescue_one(writing, stale, max_tries)
    assert await unsent(pool) == [Task.ANALYZE, Task.FINALIZE]
    async with connection(pool) as acquired:
        assert await dead_letters.page(acquired) == []


async def test_m3_a_late_result_of_a_judge_host_is_not_that_of_the_next_stage(
    pool: Pool, tmp_path: Path
) -> None:
    """M3: what is read for a result is of its own task, or nothing."""
    submission = (await judge(pool, tmp_path, EVERYTHING)).id
    running = await start_stage(pool, submission, Task.ANALYZE)
    async with connection(pool) as acquired:
        assert await read_details(acquired, Task.ANALYZE, submission) is not None
    await settle_analysis(pool, running, RECORD)
    async with connection(pool) as acquired:
        assert await read_details(acquired, Task.ANALYZE, submission) is None


async def test_a9_a_rejudge_ends_the_stages_of_the_old_submission(
    pool: Pool, tmp_path: Path
) -> None:
    """A9, S2: the old verdict stays; what its stages find comes too late."""
    submission = (await judge(pool, tmp_path, ONLY_ANALYSIS)).id
    running = await start_stage(pool, submission, Task.ANALYZE)
    async with transaction(pool) as writing:
        await rejudge(writing, submission)
    with pytest.raises(StateChanged):
        await end_stage(pool, running)
    found = await view(pool, submission)
    assert (found.state, found.verdict) == (State.COMPLETED, Verdict.ACCEPTED)
    assert await webhooks(pool) == ["submission.finished"]
    async with connection(pool) as acquired:
        assert await counters.find_mismatches(acquired) == []


async def test_a10_a_submission_with_a_verdict_can_not_be_cancelled(
    pool: Pool, tmp_path: Path
) -> None:
    submission = (await judge(pool, tmp_path, ONLY_ANALYSIS)).id
    with pytest.raises(Conflict):
        await cancel(pool, submission)
    assert (await view(pool, submission)).state in IN_STAGE
    assert Event.CANCEL not in await events(pool, submission)


async def make_trial(
    pool: Pool, directory: Path, submission: SubmissionId
) -> tuple[RejudgingId, SubmissionId]:
    """A set of one trial, which has ended."""
    wanted = RejudgingFilter(ids=[submission])
    made = (await rejudging_set.make(pool, wanted, ROOT)).rejudging.id
    [trial] = await column(pool, "SELECT id FROM submission WHERE staged_in = $1", made)
    running = await start_submission(pool, SubmissionId(str(trial)))
    artifacts = make_artifacts(directory)
    await settle(pool, artifacts, running, judged(Verdict.ACCEPTED), stages=ONLY_ANALYSIS)
    return made, running.id


async def apply_trial(pool: Pool, directory: Path, submission: SubmissionId) -> SubmissionId:
    """Returns the submission that is in force now."""
    made, new = await make_trial(pool, directory, submission)
    await rejudging_set.apply(pool, made, ROOT)
    return new


async def end_all_stages(pool: Pool, submission: SubmissionId) -> None:
    found = await start_stage(pool, submission, Task.ANALYZE)
    await end_stage(pool, found)
    await finalize(pool, submission)


async def finalize(pool: Pool, submission: SubmissionId) -> None:
    last = await start_stage(pool, submission, Task.FINALIZE)
    await FinalizeStage(pool).settle(last, None)


async def assert_analysed_once(pool: Pool, submission: SubmissionId) -> None:
    """I3: the sums of the problem have the scores of this submission, and of no other."""
    counted = "SELECT work_id FROM analysis WHERE counted"
    assert await column(pool, counted) == [submission]
    sums = "SELECT category || ' ' || analyzed || ' ' || points FROM analysis_tally"
    assert await column(pool, sums) == ["style 1 80"]
    async with connection(pool) as acquired:
        found = await analyses.get(acquired, submission)
        assert found is not None
        assert (found.scores, found.findings) == (RECORD.scores, RECORD.findings)
        assert await find_mismatches(acquired) == []
        assert await counters.find_mismatches(acquired) == []


@pytest.mark.parametrize("times", [1, 2])
async def test_a9_an_analysis_that_ends_after_its_submission_was_replaced_goes_to_the_new_one(
    pool: Pool, tmp_path: Path, times: int
) -> None:
    """A9, I3: also if that was replaced again."""
    submission = new = (await judge(pool, tmp_path, ONLY_ANALYSIS)).id
    for _ in range(times):
        new = await apply_trial(pool, tmp_path, new)
    await end_all_stages(pool, submission)
    await assert_analysed_once(pool, new)


async def test_a9_an_analysis_that_was_copied_but_not_counted_is_counted_for_the_new_one(
    pool: Pool, tmp_path: Path
) -> None:
    """A9, I3: the set is applied between the analysis and the last stage."""
    submission = (await judge(pool, tmp_path, ONLY_ANALYSIS)).id
    await end_stage(pool, await start_stage(pool, submission, Task.ANALYZE))
    new = await apply_trial(pool, tmp_path, submission)
    await finalize(pool, submission)
    await assert_analysed_once(pool, new)


async def test_a9_an_analysis_that_was_counted_moves_to_the_new_one(
    pool: Pool, tmp_path: Path
) -> None:
    submission = (await judge(pool, tmp_path, ONLY_ANALYSIS)).id
    await end_all_stages(pool, submission)
    await assert_analysed_once(pool, await apply_trial(pool, tmp_path, submission))


@pytest.mark.parametrize("is_applied_first", [True, False])
async def test_i3_a_stage_that_ends_while_a_set_is_applied_is_counted_once(
    pool: Pool, tmp_path: Path, is_applied_first: bool
) -> None:
    """A9, I3: whichever of the two gets the row of the submission first."""
    submission = (await judge(pool, tmp_path, ONLY_ANALYSIS)).id
    await end_stage(pool, await start_stage(pool, submission, Task.ANALYZE))
    last = await start_stage(pool, submission, Task.FINALIZE)
    made, new = await make_trial(pool, tmp_path, submission)
    async with asyncio.TaskGroup() as group, transaction(pool) as writing:
        if is_applied_first:
            await rejudgings.apply_trials(writing, made)
            group.create_task(FinalizeStage(pool).settle(last, None))
        else:
            await follow_up.end_stage(writing, last)
            await count_scores(writing, submission)
            group.create_task(rejudging_set.apply(pool, made, ROOT))
        await until(lambda: is_waiting_for_a_lock(pool))
    await assert_analysed_once(pool, new)


async def test_i3_an_analysis_that_ends_during_a_rejudge_waits_for_it(
    pool: Pool, tmp_path: Path
) -> None:
    """They are not in a deadlock: the stage failed, and an operator had it repeated."""
    submission = (await judge(pool, tmp_path, ONLY_ANALYSIS)).id
    running = await start_stage(pool, submission, Task.ANALYZE)
    await retry_or_fail(pool, running, Refused("no language"), max_tries=TRIES)
    started = await start_requested(pool, submission)
    async with asyncio.TaskGroup() as group, transaction(pool) as writing:
        old = await archive(writing, submission)
        assert old is not None
        group.create_task(settle_requested_analysis(pool, started, RECORD))
        await until(lambda: is_waiting_for_a_lock(pool))
        await advance(
            writing, Event.COMPLETE, submission, old["attempt"], in_stage=Task.FINALIZE
        )
    async with connection(pool) as reading:
        assert await analyses.get(reading, submission) is not None
        assert await find_mismatches(reading) == []


async def start_requested(pool: Pool, submission: SubmissionId) -> RequestedAnalysis:
    async with transaction(pool) as writing:
        requested = await analyses.request(writing, submission)
    assert requested is not None
    return await start(
        pool,
        requested,
        WorkerId(new_id(WORKER)),
        task=Task.ANALYZE_LATER,
        read=analyses.request_details,
        lease_s=15,
        caps=Caps(),
        languages=None,
    )


async def test_i3_an_analysis_that_was_requested_again_is_counted_for_the_new_one(
    pool: Pool, tmp_path: Path
) -> None:
    """A9: the stage failed; an operator had it repeated, and the set was applied meanwhile."""
    submission = (await judge(pool, tmp_path, ONLY_ANALYSIS)).id
    running = await start_stage(pool, submission, Task.ANALYZE)
    await retry_or_fail(pool, running, Refused("no language"), max_tries=TRIES)
    await finalize(pool, submission)
    started = await start_requested(pool, submission)
    new = await apply_trial(pool, tmp_path, submission)
    await settle_requested_analysis(pool, started, RECORD)
    await assert_analysed_once(pool, new)
