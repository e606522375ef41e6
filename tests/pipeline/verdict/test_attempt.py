"""I3, S2, S5, J12: a verdict is written once, by the attempt that runs."""

import asyncio
from pathlib import Path

import pytest
from prometheus_client import REGISTRY

from deemster.domain.errors import Conflict, LostRace, NotFound, Refused, Unavailable
from deemster.domain.ids import SubmissionId, WorkerId, new_id
from deemster.domain.job import Task
from deemster.domain.judge_host import JUDGE, JudgeId
from deemster.domain.judgement import JuryCase, JuryJudgement, JuryText
from deemster.domain.lifecycle import State
from deemster.domain.retry_policy import JUDGE_FAILED, MaxTries
from deemster.domain.submission import AcceptedSubmission, JudgingProgress, SubmissionView
from deemster.domain.verdict import Verdict
from deemster.pipeline.verdict import dead_letter_actions
from deemster.pipeline.verdict.attempt import Caps, Full, settle
from deemster.pipeline.verdict.cancel import cancel
from deemster.pipeline.verdict.rejudge import rejudge as rejudge_one
from deemster.pipeline.verdict.retry import rescue, rescue_one, retry_or_fail
from deemster.store import (
    counters,
    dead_letters,
    host_workers,
    judge_hosts,
    leases,
    outbox,
    remote_tasks,
    submissions,
    workers,
)
from deemster.store.audit import Actor
from deemster.store.inline_artifacts import fetch
from deemster.store.leases import StaleLease
from deemster.store.lifecycle import StateChanged
from deemster.store.pool import Pool, connection, transaction
from deemster.store.remote_tasks import HostRoom
from tests.builders import (
    judged,
    make_account,
    make_artifacts,
    make_problem,
    make_submission,
    queue_submission,
    start_submission,
    store_result,
)


async def view(pool: Pool, submission: SubmissionId) -> SubmissionView:
    async with connection(pool) as acquired:
        found = await submissions.get(acquired, submission)
    assert found is not None
    return found


async def events(pool: Pool, submission: SubmissionId) -> list[str]:
    async with connection(pool) as acquired:
        rows = await acquired.fetch(
            "SELECT event FROM work_event WHERE work_id = $1 ORDER BY id",
            submission,
        )
    return [row["event"] for row in rows]


async def due(pool: Pool) -> list[tuple[str, int]]:
    """All outbox rows, due or not."""
    async with connection(pool) as acquired:
        rows = await acquired.fetch(
            "SELECT work_id, dispatch FROM outbox WHERE sent_at IS NULL ORDER BY id"
        )
    return [(row["work_id"], row["dispatch"]) for row in rows]


async def tally(pool: Pool) -> tuple[int, int]:
    async with connection(pool) as acquired:
        assert await counters.find_mismatches(acquired) == []
        row = await acquired.fetchrow("SELECT submits, accepted FROM problem_tally")
    return (row["submits"], row["accepted"]) if row else (0, 0)


async def test_a_verdict_its_counters_and_its_event_come_together(
    pool: Pool, tmp_path: Path
) -> None:
    """I3, S5, S6, A2: slowest case, not the sum."""
    submission = await make_submission(pool)
    running = await start_submission(pool, submission)
    await settle(pool, make_artifacts(tmp_path), running, judged())
    found = await view(pool, submission)
    assert (found.state, found.verdict) == (State.COMPLETED, Verdict.ACCEPTED)
    assert (found.runtime_ms, found.memory_kb) == (30, 1000)
    assert (found.passed_cases, found.total_cases) == (3, 3)
    assert await events(pool, submission) == ["submit", "publish", "start", "complete"]
    assert await tally(pool) == (1, 1)
    async with connection(pool) as acquired:
        assert await acquired.fetchval("SELECT count(*) FROM lease") == 0


async def test_settling_twice_changes_nothing(pool: Pool, tmp_path: Path) -> None:
    """I3"""
    running = await start_submission(pool, await make_submission(pool))
    artifacts = make_artifacts(tmp_path)
    await settle(pool, artifacts, running, judged())
    with pytest.raises(StateChanged):
        await settle(pool, artifacts, running, judged(Verdict.WRONG_ANSWER))
    assert (await view(pool, running.id)).verdict is Verdict.ACCEPTED
    assert await tally(pool) == (1, 1)


async def test_concurrent_settlements_count_once(pool: Pool, tmp_path: Path) -> None:
    running = await start_submission(pool, await make_submission(pool))
    artifacts = make_artifacts(tmp_path)
    tries = [settle(pool, artifacts, running, judged()) for _ in range(10)]
    outcomes = await asyncio.gather(*tries, return_exceptions=True)
    assert outcomes.count(None) == 1
    assert await tally(pool) == (1, 1)


async def test_a_rescued_worker_cannot_settle(pool: Pool, tmp_path: Path) -> None:
    """J12: its late write changes nothing, before or after another worker has started."""
    submission = await make_submission(pool)
    late = await start_submission(pool, submission, lease_s=1e-6)
    assert await rescue(pool, max_tries=MaxTries(3, 3)) == 1
    artifacts = make_artifacts(tmp_path)
    with pytest.raises(StateChanged):
        await settle(pool, artifacts, late, judged(Verdict.WRONG_ANSWER))
    again = await start_submission(pool, submission)
    assert again.attempt == late.attempt + 1
    with pytest.raises(StateChanged):
        await settle(pool, artifacts, late, judged(Verdict.WRONG_ANSWER))
    await settle(pool, artifacts, again, judged())
    assert (await view(pool, submission)).verdict is Verdict.ACCEPTED
    assert await tally(pool) == (1, 1)


def counted(name: str) -> float:
    """How often this process has counted runs in a metric."""
    return REGISTRY.get_sample_value(f"deemster_{name}_total", {"task": Task.RUN}) or 0.0


async def test_a_rescue_sends_a_new_job_with_a_reason(pool: Pool) -> None:
    """Q6: recorded, with a reason. O1: the metrics count it."""
    stalled, retries = counted("stalled_jobs"), counted("job_retries")
    submission = await make_submission(pool)
    await start_submission(pool, submission, WorkerId("wrk_x"), lease_s=1e-6)
    await rescue(pool, max_tries=MaxTries(3, 3))
    assert await due(pool) == [(submission, 1), (submission, 2)]
    async with connection(pool) as acquired:
        reason = await acquired.fetchval("SELECT reason FROM work_event WHERE event = 'rescue'")
    assert reason == "worker wrk_x stopped sending heartbeats"
    assert counted("stalled_jobs") == stalled + 1
    assert counted("job_retries") == retries + 1


async def test_a_job_with_heartbeats_is_not_rescued(pool: Pool) -> None:
    submission = await make_submission(pool)
    await start_submission(pool, submission, lease_s=60)
    assert await rescue(pool, max_tries=MaxTries(3, 3)) == 0
    assert (await view(pool, submission)).state is State.RUNNING


async def find_stale(pool: Pool) -> list[StaleLease]:
    async with connection(pool) as acquired:
        return await leases.find_stale(acquired, limit=5)


async def rescue_found(pool: Pool, stale: StaleLease, max_tries: int) -> bool:
    async with transaction(pool) as writing:
        return await rescue_one(writing, stale, max_tries)


@pytest.mark.parametrize("max_tries", [1, 3])
async def test_q6_a_worker_that_is_heard_again_before_its_rescue_keeps_its_job(
    pool: Pool, max_tries: int
) -> None:
    """Q6: the watchdog reads many stale leases, and rescues one after the other."""
    submission, worker = await make_submission(pool), WorkerId("wrk_me")
    await start_submission(pool, submission, worker, lease_s=1e-6)
    [stale] = await find_stale(pool)
    async with connection(pool) as acquired:
        await leases.renew(acquired, worker, {(submission, 1): JudgingProgress(1, 3)})
    with pytest.raises(LostRace):
        await rescue_found(pool, stale, max_tries)
    found = await view(pool, submission)
    assert (found.state, found.progress) == (State.RUNNING, JudgingProgress(1, 3))
    assert await due(pool) == [(submission, 1)]
    [still] = await find_stale(pool)
    assert await rescue_found(pool, still, 3)


async def test_m3_a_host_that_reports_a_result_before_its_rescue_keeps_its_job(
    pool: Pool,
) -> None:
    """M3, Q6: on the last attempt the submission would fail, although it has a verdict."""
    async with transaction(pool) as writing:
        host = await judge_hosts.add(writing, "lab", created_by="ada")
        worker = await host_workers.register(
            writing, host, slots=1, execution_slots=1, versions={"python3": "3"}
        )
    assert worker is not None
    submission = await make_submission(pool)
    await start_submission(pool, submission, worker, lease_s=1e-6)
    room = HostRoom(worker, host, None, None)
    async with transaction(pool) as writing:
        task = await remote_tasks.register(
            writing, JudgeId(new_id(JUDGE)), submission, 1, Task.RUN, room
        )
    [stale] = await find_stale(pool)
    async with transaction(pool) as writing:
        await store_result(writing, task.judge_id, b"{}")
    with pytest.raises(LostRace):
        await rescue_found(pool, stale, 1)
    assert (await view(pool, submission)).state is State.RUNNING


async def test_q6_a_running_submission_without_a_lease_is_rescued(pool: Pool) -> None:
    submission = await make_submission(pool)
    await start_submission(pool, submission)
    async with connection(pool) as acquired:
        await acquired.execute("DELETE FROM lease")
        await acquired.execute("UPDATE work SET changed_at = now() - interval '1 hour'")
    assert await rescue(pool, max_tries=MaxTries(3, 3)) == 1
    assert (await view(pool, submission)).state is State.QUEUED


async def test_jobs_of_a_worker_known_to_be_dead_are_rescued_at_once(pool: Pool) -> None:
    submission = await make_submission(pool)
    worker = WorkerId("wrk_dead")
    async with connection(pool) as acquired:
        await workers.register(
            acquired, worker, host="h", process="p", slots=1, versions={"c": "GCC 12"}
        )
    await start_submission(pool, submission, worker, lease_s=600)
    assert await rescue(pool, max_tries=MaxTries(3, 3)) == 0
    async with connection(pool) as acquired:
        await workers.mark_gone(acquired, [worker])
    assert await rescue(pool, max_tries=MaxTries(3, 3)) == 1


async def test_after_the_last_attempt_a_silent_job_fails(pool: Pool) -> None:
    """Q6, Q7: with a dead letter."""
    submission = await make_submission(pool)
    for _ in range(2):
        await start_submission(pool, submission, lease_s=1e-6)
        await rescue(pool, max_tries=MaxTries(2, 2))
    found = await view(pool, submission)
    assert (found.state, found.failure) == (State.FAILED, JUDGE_FAILED)
    async with connection(pool) as acquired:
        (letter,) = await dead_letters.page(acquired)
    assert (letter.work, letter.attempt) == (submission, 2)
    assert await tally(pool) == (0, 0)


async def test_a_failure_of_the_judge_is_retried_with_growing_pauses(pool: Pool) -> None:
    """Q3: after 2 s and 4 s, then it fails. O1: the metrics count it."""
    retries, failed = counted("job_retries"), counted("failed_jobs")
    submission = await make_submission(pool)
    pauses = []
    for _ in range(2):
        running = await start_submission(pool, submission)
        assert await retry_or_fail(pool, running, Unavailable("no sandbox"), max_tries=3)
        async with connection(pool) as acquired:
            pauses.append(
                await acquired.fetchval(
                    """SELECT extract(epoch FROM available_at - now())::float FROM outbox
                        ORDER BY id DESC LIMIT 1"""
                )
            )
    assert [round(pause) for pause in pauses] == [2, 4]
    assert (counted("job_retries"), counted("failed_jobs")) == (retries + 2, failed)
    running = await start_submission(pool, submission)
    assert not await retry_or_fail(pool, running, Unavailable("no sandbox"), max_tries=3)
    assert (await view(pool, submission)).state is State.FAILED
    assert [dispatch for _, dispatch in await due(pool)] == [1, 2, 3]
    assert (counted("job_retries"), counted("failed_jobs")) == (retries + 2, failed + 1)


async def test_a_refused_submission_is_not_retried(pool: Pool) -> None:
    """Q3: it fails at once, and the contestant sees the reason."""
    running = await start_submission(pool, await make_submission(pool))
    assert not await retry_or_fail(pool, running, Refused("Ada isn't installed."), max_tries=3)
    found = await view(pool, running.id)
    assert (found.state, found.failure) == (State.FAILED, "Ada isn't installed.")


async def test_contestants_do_not_see_why_the_judge_failed(pool: Pool) -> None:
    """A11: only admins see it."""
    running = await start_submission(pool, await make_submission(pool))
    await retry_or_fail(pool, running, Unavailable("secret/7.ans is gone"), max_tries=1)
    assert "secret" not in str(await view(pool, running.id))
    async with connection(pool) as acquired:
        (letter,) = await dead_letters.page(acquired)
    assert "secret/7.ans is gone" in letter.error


async def test_of_start_and_cancel_exactly_one_wins(pool: Pool) -> None:
    """A10: also when they run at the same time."""
    for _ in range(20):
        submission = await make_submission(pool)
        await queue_submission(pool, submission)
        started, cancelled = await asyncio.gather(
            start_submission(pool, submission),
            cancel(pool, submission),
            return_exceptions=True,
        )
        # A submission that runs can be cancelled too: cancel always wins in the end.
        assert cancelled is State.CANCELLED
        assert (await view(pool, submission)).state is State.CANCELLED
        if isinstance(started, BaseException):
            assert isinstance(started, LostRace)
        assert (await events(pool, submission)).count("cancel") == 1


async def test_a_cancelled_run_cannot_settle(pool: Pool, tmp_path: Path) -> None:
    running = await start_submission(pool, await make_submission(pool))
    await cancel(pool, running.id)
    with pytest.raises(StateChanged):
        await settle(pool, make_artifacts(tmp_path), running, judged())
    assert await tally(pool) == (0, 0)


async def test_a_finished_submission_cannot_be_cancelled(pool: Pool, tmp_path: Path) -> None:
    running = await start_submission(pool, await make_submission(pool))
    await settle(pool, make_artifacts(tmp_path), running, judged())
    with pytest.raises(Conflict, match="finished"):
        await cancel(pool, running.id)
    with pytest.raises(NotFound):
        await cancel(pool, SubmissionId("sub_nobody"))


async def rejudge(pool: Pool, submission: SubmissionId) -> AcceptedSubmission:
    async with transaction(pool) as writing:
        return await rejudge_one(writing, submission)


async def requeue(pool: Pool, number: int) -> AcceptedSubmission:
    async with transaction(pool) as writing:
        again = await dead_letter_actions.requeue(writing, number, actor=Actor("root"))
    assert isinstance(again, AcceptedSubmission)
    return again


async def test_a_rejudge_is_a_new_submission_and_the_old_verdict_stays(
    pool: Pool, tmp_path: Path
) -> None:
    """A9: it uses the current test data, and counters count it instead."""
    summary = await make_problem(pool)
    account = await make_account(pool)
    old = await start_submission(pool, await make_submission(pool, account, summary))
    artifacts = make_artifacts(tmp_path)
    await settle(pool, artifacts, old, judged())
    revised = await make_problem(pool, text="second")
    new = await rejudge(pool, old.id)
    assert await tally(pool) == (0, 0)
    running = await start_submission(pool, new.id)
    assert (running.revision, running.source) == (revised.digest, old.source)
    await settle(pool, artifacts, running, judged(Verdict.WRONG_ANSWER))
    before, after = await view(pool, old.id), await view(pool, new.id)
    assert (before.verdict, before.superseded_by) == (Verdict.ACCEPTED, new.id)
    assert before.archived_at is not None
    assert (after.verdict, after.rejudge_of) == (Verdict.WRONG_ANSWER, old.id)
    assert await tally(pool) == (1, 0)


async def test_one_submission_is_rejudged_once(pool: Pool, tmp_path: Path) -> None:
    old = await start_submission(pool, await make_submission(pool))
    with pytest.raises(Conflict):
        await rejudge(pool, old.id)
    await settle(pool, make_artifacts(tmp_path), old, judged())
    tries = [rejudge(pool, old.id) for _ in range(10)]
    outcomes = await asyncio.gather(*tries, return_exceptions=True)
    assert sum(not isinstance(each, BaseException) for each in outcomes) == 1


async def test_a_dead_letter_is_requeued_once_and_its_history_stays(pool: Pool) -> None:
    """Q7: also when two admins do it at the same time."""
    running = await start_submission(pool, await make_submission(pool))
    await retry_or_fail(pool, running, Unavailable("no"), max_tries=1)
    async with connection(pool) as acquired:
        (letter,) = await dead_letters.page(acquired)
    tries = [requeue(pool, letter.id) for _ in range(5)]
    outcomes = await asyncio.gather(*tries, return_exceptions=True)
    (new,) = [each for each in outcomes if not isinstance(each, BaseException)]
    async with connection(pool) as acquired:
        kept = await dead_letters.get(acquired, letter.id)
        assert await dead_letters.page(acquired) == []
    assert kept is not None
    assert (kept.outcome, kept.settled_by, kept.requeued_as) == ("requeued", "root", new.id)
    assert (await view(pool, running.id)).state is State.FAILED
    with pytest.raises(Conflict):
        async with transaction(pool) as writing:
            await dead_letter_actions.discard(writing, letter.id, actor=Actor("root"))


async def test_caps_hold_when_many_start_at_once(pool: Pool) -> None:
    """Q9: in total, per user, per language."""
    summary = await make_problem(pool)
    for caps, most in (
        (Caps(everywhere=3), 3),
        (Caps(per_account=2), 2),
        (Caps(by_language={"c": 1}), 1),
    ):
        account = await make_account(pool, f"u{most}")
        waiting = [
            await make_submission(pool, account, summary, language="c") for _ in range(8)
        ]
        tries = [start_submission(pool, each, caps=caps) for each in waiting]
        outcomes = await asyncio.gather(*tries, return_exceptions=True)
        assert sum(isinstance(each, Full) for each in outcomes) == 8 - most
        for each in waiting:
            await cancel(pool, each)


async def test_a_heartbeat_returns_the_jobs_of_the_worker(pool: Pool) -> None:
    """Q5, J10."""
    worker = WorkerId("wrk_me")
    mine = await start_submission(pool, await make_submission(pool), worker)
    gone = await start_submission(pool, await make_submission(pool), worker)
    await cancel(pool, gone.id)
    shown = JudgingProgress(2, 3)
    async with connection(pool) as acquired:
        ours = await leases.renew(
            acquired, worker, {(each.id, each.attempt): shown for each in (mine, gone)}
        )
    assert ours == {mine.id}
    assert (await view(pool, mine.id)).progress == shown


async def test_the_jury_judgement_is_stored_as_an_artifact(pool: Pool, tmp_path: Path) -> None:
    """A11, J11: in an artifact, with NUL bytes and lone surrogates that programs print."""
    running = await start_submission(pool, await make_submission(pool))
    case = JuryCase(
        "secret/1", 1, Verdict.WRONG_ANSWER, message=JuryText("hidden \0 \ud800 thing")
    )
    judgement = JuryJudgement(Verdict.WRONG_ANSWER, [case])
    artifacts = make_artifacts(tmp_path)
    await settle(pool, artifacts, running, judgement)
    assert "hidden" not in str(await view(pool, running.id))
    async with connection(pool) as acquired:
        digest = await acquired.fetchval("SELECT jury FROM judgement")
        assert b"hidden" in await fetch(acquired, artifacts, digest)


async def test_the_queue_is_ordered_by_priority_then_time(pool: Pool) -> None:
    """A4, Q8: a user's second waits behind everyone's first."""
    summary = await make_problem(pool)
    ada, bob = await make_account(pool, "ada"), await make_account(pool, "bob")
    first = await make_submission(pool, ada, summary)
    second = await make_submission(pool, ada, summary)
    other = await make_submission(pool, bob, summary)
    async with connection(pool) as acquired:
        places = {}
        for each in (first, second, other):
            waiting = await submissions.get(acquired, each)
            assert waiting is not None
            place = await submissions.queue_position(acquired, waiting)
            assert place is not None
            places[each] = place.position
    assert places == {first: 1, other: 2, second: 3}


async def test_an_outbox_row_is_written_in_the_same_transaction(pool: Pool) -> None:
    """Q2: by accept, retry and rescue."""
    submission = await make_submission(pool)
    async with connection(pool) as acquired:
        assert (await outbox.count_unsent(acquired))[0] == 1
    assert await due(pool) == [(submission, 1)]
