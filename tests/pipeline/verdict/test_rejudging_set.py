"""A9, I3: sets are rejudged on trial, then applied at once or dropped."""

import asyncio
import random
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from deemster.domain.errors import Conflict, NotFound, Refused, Unavailable
from deemster.domain.ids import ProblemId, RejudgingId, SubmissionId
from deemster.domain.job import PRIORITY_CLASS_WIDTH, PriorityClass
from deemster.domain.lifecycle import State
from deemster.domain.submission import AcceptedSubmission, SubmissionView
from deemster.domain.verdict import Verdict
from deemster.pipeline.verdict import rejudging_set
from deemster.pipeline.verdict.attempt import Caps, Full, settle
from deemster.pipeline.verdict.cancel import cancel
from deemster.pipeline.verdict.rejudge import rejudge as rejudge_one
from deemster.pipeline.verdict.retry import retry_or_fail
from deemster.store import audit, counters, rejudgings, submissions
from deemster.store.artifacts import Artifacts
from deemster.store.audit import Actor
from deemster.store.lifecycle import StateChanged
from deemster.store.notifications import STOP_CHANNEL, Listener
from deemster.store.pool import Pool, connection, transaction
from deemster.store.rejudgings import RejudgingFilter, UnfinishedCounts
from tests.builders import (
    judged,
    make_account,
    make_artifacts,
    make_problem,
    make_submission,
    start_submission,
)
from tests.waiting import PATIENCE_S

ROOT = Actor("root")
SUM = RejudgingFilter(problem=ProblemId("prob_sum"))
HOOK = "https://example.org/hook"


@pytest.fixture
def artifacts(tmp_path: Path) -> Artifacts:
    return make_artifacts(tmp_path)


async def ended(
    pool: Pool,
    artifacts: Artifacts,
    verdict: Verdict | None = Verdict.ACCEPTED,
    user: str = "ada",
    problem: str = "sum",
) -> SubmissionId:
    """A judged submission; without a verdict, one that the judge failed at."""
    account = await make_account(pool, user)
    made = await make_submission(pool, account, await make_problem(pool, problem))
    await end(pool, artifacts, made, verdict)
    return made


async def end(
    pool: Pool, artifacts: Artifacts, submission: SubmissionId, verdict: Verdict | None
) -> None:
    running = await start_submission(pool, submission)
    if verdict is None:
        await retry_or_fail(pool, running, Unavailable("no sandbox"), max_tries=1)
    else:
        await settle(pool, artifacts, running, judged(verdict))


async def trials(pool: Pool, made: RejudgingId) -> dict[SubmissionId, SubmissionId]:
    """Trials by the submission that they rejudge."""
    async with connection(pool) as acquired:
        rows = await acquired.fetch(
            "SELECT rejudge_of, id FROM submission WHERE staged_in = $1 OR applied_in = $1",
            made,
        )
    return {row["rejudge_of"]: row["id"] for row in rows}


async def view(pool: Pool, submission: SubmissionId) -> SubmissionView:
    async with connection(pool) as acquired:
        found = await submissions.get(acquired, submission)
    assert found is not None
    return found


async def value(pool: Pool, statement: str, *values: Any) -> Any:
    async with connection(pool) as acquired:
        return await acquired.fetchval(statement, *values)


async def assert_counted_right(pool: Pool) -> None:
    async with connection(pool) as acquired:
        assert await counters.find_mismatches(acquired) == []


async def add_webhooks(pool: Pool) -> None:
    async with connection(pool) as acquired:
        await acquired.execute("UPDATE submission SET webhook_url = $1", HOOK)


async def test_trials_do_not_count_and_are_not_announced_until_they_are_applied(
    pool: Pool, artifacts: Artifacts
) -> None:
    """A9, J9: they use the current revision and the lowest priority."""
    old = await ended(pool, artifacts, Verdict.WRONG_ANSWER)
    await add_webhooks(pool)
    revised = await make_problem(pool, text="second")
    made = await rejudging_set.make(pool, SUM, ROOT, reason="tests were wrong")
    new = (await trials(pool, made.rejudging.id))[old]
    trial = await view(pool, new)
    assert (trial.revision, trial.staged_in) == (revised.digest, made.rejudging.id)
    assert trial.priority > PriorityClass.REJUDGE * PRIORITY_CLASS_WIDTH
    await end(pool, artifacts, new, Verdict.ACCEPTED)
    await assert_counted_right(pool)
    assert await value(pool, "SELECT count(*) FROM webhook_delivery") == 0
    before = await view(pool, old)
    assert (before.archived_at, before.superseded_by) == (None, None)
    async with connection(pool) as acquired:
        listed = await submissions.page(
            acquired, submissions.SubmissionFilter(), before=None, limit=9
        )
    assert [each.id for each in listed] == [old]

    done = await rejudging_set.apply(pool, made.rejudging.id, ROOT)
    assert (done.progress.applied, done.progress.verdicts_changed) == (1, 1)
    await assert_counted_right(pool)
    before, after = await view(pool, old), await view(pool, new)
    assert (before.verdict, before.superseded_by) == (Verdict.WRONG_ANSWER, new)
    assert before.archived_at is not None
    assert (after.verdict, after.staged_in) == (Verdict.ACCEPTED, None)
    assert await value(pool, "SELECT accepted FROM problem_tally") == 1
    assert await value(pool, "SELECT work_id FROM webhook_delivery") == new
    told = "SELECT work_id FROM work_event WHERE event = 'apply'"
    assert await value(pool, told) == new


async def test_only_changed_verdicts_are_announced(pool: Pool, artifacts: Artifacts) -> None:
    """I3: once each, and only to submissions with a webhook."""
    olds = [await ended(pool, artifacts) for _ in range(3)]
    await add_webhooks(pool)
    async with connection(pool) as acquired:
        await acquired.execute(
            "UPDATE submission SET webhook_url = NULL WHERE id = $1", olds[2]
        )
    made = (await rejudging_set.make(pool, SUM, ROOT)).rejudging.id
    of = await trials(pool, made)
    await end(pool, artifacts, of[olds[0]], Verdict.ACCEPTED)
    await end(pool, artifacts, of[olds[1]], Verdict.TIME_LIMIT)
    await end(pool, artifacts, of[olds[2]], Verdict.TIME_LIMIT)
    await rejudging_set.apply(pool, made, ROOT)
    async with connection(pool) as acquired:
        rows = await acquired.fetch("SELECT work_id, kind FROM webhook_delivery")
    assert [tuple(row) for row in rows] == [(of[olds[1]], "submission.finished")]


async def test_a_changed_score_is_announced_too(pool: Pool, artifacts: Artifacts) -> None:
    """I3: a verdict that stays Partial may be worth more, or less."""
    olds = [await ended(pool, artifacts, Verdict.PARTIAL) for _ in range(2)]
    await add_webhooks(pool)
    made = (await rejudging_set.make(pool, SUM, ROOT)).rejudging.id
    of = await trials(pool, made)
    for old in olds:
        await end(pool, artifacts, of[old], Verdict.PARTIAL)
    async with connection(pool) as acquired:
        await acquired.execute("UPDATE submission SET score = 40")
        await acquired.execute("UPDATE submission SET score = 70 WHERE id = $1", of[olds[1]])
    await rejudging_set.apply(pool, made, ROOT)
    async with connection(pool) as acquired:
        rows = await acquired.fetch("SELECT work_id FROM webhook_delivery")
    assert [row["work_id"] for row in rows] == [of[olds[1]]]


async def test_a_set_is_applied_only_when_all_of_it_has_ended(
    pool: Pool, artifacts: Artifacts
) -> None:
    olds = [await ended(pool, artifacts) for _ in range(2)]
    made = (await rejudging_set.make(pool, SUM, ROOT)).rejudging.id
    of = await trials(pool, made)
    await end(pool, artifacts, of[olds[0]], Verdict.ACCEPTED)
    running = await start_submission(pool, of[olds[1]])
    with pytest.raises(Conflict, match="1 of its trials have not ended"):
        await rejudging_set.apply(pool, made, ROOT)
    assert (await view(pool, olds[0])).archived_at is None
    await settle(pool, artifacts, running, judged())
    assert (await rejudging_set.overview(pool, made)).is_ready
    assert (await rejudging_set.apply(pool, made, ROOT)).progress.applied == 2


async def test_failed_and_late_trials_are_not_applied(pool: Pool, artifacts: Artifacts) -> None:
    """A9: the overview counts them."""
    failed, overtaken, good = [await ended(pool, artifacts) for _ in range(3)]
    made = (await rejudging_set.make(pool, SUM, ROOT)).rejudging.id
    of = await trials(pool, made)
    await end(pool, artifacts, of[failed], None)
    await end(pool, artifacts, of[overtaken], Verdict.WRONG_ANSWER)
    await end(pool, artifacts, of[good], Verdict.WRONG_ANSWER)
    other = (await rejudge(pool, overtaken)).id
    progress = (await rejudging_set.apply(pool, made, ROOT)).progress
    assert (progress.applied, progress.failed, progress.overtaken) == (1, 1, 1)
    assert (await view(pool, failed)).archived_at is None
    assert (await view(pool, overtaken)).superseded_by == other
    assert (await view(pool, good)).superseded_by == of[good]
    async with connection(pool) as acquired:
        changes = await rejudgings.list_changes(acquired, made, after=None, limit=9)
    told = {each.old: (each.state, each.applied, each.overtaken) for each in changes}
    assert told == {
        failed: (State.FAILED, False, False),
        overtaken: (State.COMPLETED, False, True),
        good: (State.COMPLETED, True, False),
    }
    for left in (of[failed], of[overtaken]):
        assert (await view(pool, left)).archived_at is not None
    await assert_counted_right(pool)


async def test_a_submission_that_had_failed_counts_once_it_has_a_verdict(
    pool: Pool, artifacts: Artifacts
) -> None:
    """I3: there was no counter row before."""
    await ended(pool, artifacts, None)
    made = (await rejudging_set.make(pool, SUM, ROOT)).rejudging.id
    for trial in (await trials(pool, made)).values():
        await end(pool, artifacts, trial, Verdict.ACCEPTED)
    await rejudging_set.apply(pool, made, ROOT)
    await assert_counted_right(pool)
    assert await value(pool, "SELECT submits FROM problem_tally") == 1


async def test_a_dropped_set_changes_nothing_and_its_jobs_are_cancelled(
    pool: Pool, artifacts: Artifacts
) -> None:
    """A10: waiting and running trials are cancelled; a late verdict is refused."""
    olds = [await ended(pool, artifacts) for _ in range(3)]
    made = (await rejudging_set.make(pool, SUM, ROOT)).rejudging.id
    of = await trials(pool, made)
    await end(pool, artifacts, of[olds[0]], Verdict.WRONG_ANSWER)
    running = await start_submission(pool, of[olds[1]])
    dropped = await rejudging_set.drop(pool, made, ROOT)
    assert (dropped.rejudging.outcome, dropped.progress.cancelled) == ("dropped", 2)
    with pytest.raises(StateChanged):
        await settle(pool, artifacts, running, judged())
    assert await value(pool, "SELECT count(*) FROM lease") == 0
    assert await value(pool, "SELECT count(*) FROM work_event WHERE event = 'cancel'") == 2
    for old in olds:
        assert (await view(pool, old)).archived_at is None
        assert (await view(pool, of[old])).archived_at is not None
    await assert_counted_right(pool)
    for settle_it in (rejudging_set.apply, rejudging_set.drop):
        with pytest.raises(Conflict, match="already dropped"):
            await settle_it(pool, made, ROOT)


async def test_the_worker_of_a_dropped_trial_is_notified(
    pool: Pool, artifacts: Artifacts, database_url: str
) -> None:
    await ended(pool, artifacts)
    made = (await rejudging_set.make(pool, SUM, ROOT)).rejudging.id
    (trial,) = (await trials(pool, made)).values()
    await start_submission(pool, trial)
    async with Listener.open(database_url, STOP_CHANNEL) as listener:
        await listener.wait(30)  # it says that it listens
        await rejudging_set.drop(pool, made, ROOT)
        heard: list[str] = []
        async with asyncio.timeout(PATIENCE_S):
            while trial not in heard:
                heard += await listener.wait(1)


async def test_of_apply_and_drop_exactly_one_wins(pool: Pool, artifacts: Artifacts) -> None:
    for _ in range(5):
        old = await ended(pool, artifacts, Verdict.WRONG_ANSWER)
        made = (await rejudging_set.make(pool, RejudgingFilter(ids=[old]), ROOT)).rejudging.id
        new = (await trials(pool, made))[old]
        await end(pool, artifacts, new, Verdict.ACCEPTED)
        tries = [
            each(pool, made, ROOT)
            for each in (rejudging_set.apply, rejudging_set.drop)
            for _ in "123"
        ]
        outcomes = await asyncio.gather(*tries, return_exceptions=True)
        (won,) = [each for each in outcomes if not isinstance(each, BaseException)]
        assert all(isinstance(each, Conflict) for each in outcomes if each is not won)
        is_applied = won.rejudging.outcome == "applied"
        assert (await view(pool, old)).superseded_by == (new if is_applied else None)
        await assert_counted_right(pool)


async def test_two_sets_of_the_same_submissions_apply_once(
    pool: Pool, artifacts: Artifacts
) -> None:
    """A9: the second set finds its submissions replaced, also if both are applied at once."""
    olds = [await ended(pool, artifacts, Verdict.WRONG_ANSWER) for _ in range(6)]
    made = [(await rejudging_set.make(pool, SUM, ROOT)).rejudging.id for _ in range(2)]
    for each, verdict in zip(made, (Verdict.ACCEPTED, Verdict.TIME_LIMIT), strict=True):
        for trial in (await trials(pool, each)).values():
            await end(pool, artifacts, trial, verdict)
    done = await asyncio.gather(*(rejudging_set.apply(pool, each, ROOT) for each in made))
    assert sum(each.progress.applied for each in done) == len(olds)
    assert sum(each.progress.overtaken for each in done) == len(olds)
    await assert_counted_right(pool)


async def test_the_keeper_continues_an_interrupted_set(
    pool: Pool, artifacts: Artifacts, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Batch by batch; each submission is staged once."""
    monkeypatch.setattr(rejudging_set, "BATCH", 2)
    olds = [await ended(pool, artifacts) for _ in range(7)]
    begun = await begin(pool, SUM)
    assert await rejudging_set.stage_batch(pool, begun)
    late = await ended(pool, artifacts)  # ended after the set was made
    with pytest.raises(Conflict, match="have not ended"):
        await rejudging_set.apply(pool, begun, ROOT)
    await asyncio.gather(*(rejudging_set.continue_staging(pool) for _ in range(10)))
    of = await trials(pool, begun)
    assert set(of) == set(olds)
    assert late not in of
    assert await rejudging_set.continue_staging(pool) == 0
    found = await rejudging_set.overview(pool, begun)
    assert found.rejudging.staged_at is not None
    assert found.progress.trials == found.rejudging.matched == 7


async def test_an_incomplete_set_can_be_dropped(
    pool: Pool, artifacts: Artifacts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rejudging_set, "BATCH", 2)
    for _ in range(5):
        await ended(pool, artifacts)
    begun = await begin(pool, SUM)
    await rejudging_set.stage_batch(pool, begun)
    assert (await rejudging_set.drop(pool, begun, ROOT)).progress.cancelled == 2
    assert not await rejudging_set.stage_batch(pool, begun)
    assert await rejudging_set.continue_staging(pool) == 0


async def test_an_empty_or_far_too_large_set_is_refused(
    pool: Pool, artifacts: Artifacts, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting = await make_submission(pool)
    with pytest.raises(Refused, match="No submission matches"):
        await rejudging_set.make(pool, SUM, ROOT)
    await cancel(pool, waiting)
    with pytest.raises(Refused, match="No submission matches"):
        await rejudging_set.make(pool, SUM, ROOT)
    with pytest.raises(Refused, match="Name the submissions"):
        await rejudging_set.make(pool, RejudgingFilter(), ROOT)
    monkeypatch.setattr(rejudging_set, "MAX_FOUND", 1)
    for _ in range(2):
        await ended(pool, artifacts)
    with pytest.raises(Refused, match="More than 1"):
        await rejudging_set.make(pool, SUM, ROOT)
    with pytest.raises(NotFound):
        await rejudging_set.apply(pool, RejudgingId("rej_nothing"), ROOT)
    assert await value(pool, "SELECT count(*) FROM rejudging") == 0


async def test_actions_on_a_set_are_in_the_audit_log(pool: Pool, artifacts: Artifacts) -> None:
    """O6: in the transaction of the action."""
    await ended(pool, artifacts)
    one = (await rejudging_set.make(pool, SUM, ROOT, reason="why")).rejudging.id
    with pytest.raises(Conflict):
        await rejudging_set.apply(pool, one, ROOT)
    await rejudging_set.drop(pool, one, ROOT)
    two = (await rejudging_set.make(pool, SUM, ROOT)).rejudging.id
    for trial in (await trials(pool, two)).values():
        await end(pool, artifacts, trial, Verdict.ACCEPTED)
    await rejudging_set.apply(pool, two, ROOT)
    async with connection(pool) as acquired:
        deeds = await audit.page(acquired, before=None, limit=9)
    assert [(each.act, each.target) for each in reversed(deeds)] == [
        ("rejudging.make", one),
        ("rejudging.drop", one),
        ("rejudging.make", two),
        ("rejudging.apply", two),
    ]


async def test_an_apply_that_is_killed_changes_nothing(
    pool: Pool, artifacts: Artifacts
) -> None:
    """I3: its connection dies while it waits for a counter; the next apply does it all."""
    old = await ended(pool, artifacts, Verdict.WRONG_ANSWER)
    made = (await rejudging_set.make(pool, SUM, ROOT)).rejudging.id
    new = (await trials(pool, made))[old]
    await end(pool, artifacts, new, Verdict.ACCEPTED)
    async with transaction(pool) as holding, asyncio.TaskGroup() as group:
        await holding.execute("SELECT FROM problem_tally FOR UPDATE")
        task = group.create_task(killed_apply(pool, made))
        while not await value(
            pool,
            """SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                WHERE wait_event_type = 'Lock' AND datname = current_database()""",
        ):
            await holding.execute("SELECT 1")  # it must not look frozen
        await task
    assert (await view(pool, old)).archived_at is None
    assert (await view(pool, new)).staged_in == made
    await assert_counted_right(pool)
    assert (await rejudging_set.apply(pool, made, ROOT)).progress.applied == 1
    await assert_counted_right(pool)


async def killed_apply(pool: Pool, made: RejudgingId) -> None:
    with pytest.raises(Unavailable):
        await rejudging_set.apply(pool, made, ROOT)


@pytest.mark.parametrize("seed", range(4))
async def test_under_random_races_each_submission_has_one_verdict_and_counters_agree(
    pool: Pool, artifacts: Artifacts, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """A9, I3: overlapping sets, single rejudges, interrupted sets, apply against drop."""
    chance = random.Random(seed)
    monkeypatch.setattr(rejudging_set, "BATCH", 3)
    verdicts = [Verdict.ACCEPTED, Verdict.WRONG_ANSWER, Verdict.TIME_LIMIT, None]
    first: dict[SubmissionId, Verdict | None] = {}
    for _ in range(14):
        verdict = chance.choice(verdicts)
        user, problem = chance.choice("abc"), chance.choice(["sum", "max"])
        first[await ended(pool, artifacts, verdict, user, problem)] = verdict
    for _ in range(3):
        made = [await half_made(pool, chance) for _ in range(3)]
        while await rejudging_set.continue_staging(pool):
            pass
        staged = [trial for each in made for trial in (await trials(pool, each)).values()]
        judging = [
            end(pool, artifacts, trial, chance.choice(verdicts))
            for trial in staged
            if chance.random() < 0.95
        ]
        early = [try_to(rejudging_set.apply, pool, chance.choice(made))]
        if chance.random() < 0.5:
            early.append(try_to(rejudging_set.drop, pool, chance.choice(made)))
        await all_of(chance, [*judging, *early])
        acts = (rejudging_set.apply, rejudging_set.apply, rejudging_set.drop)
        late = [try_to(act, pool, each) for each in made for act in acts]
        late += [try_to(rejudge_now, pool, each) for each in chance.sample(list(first), 2)]
        await all_of(chance, late)
        for each in made:
            await finish(pool, artifacts, each)
        await assert_counted_right(pool)
        await assert_one_stands_for_each(pool, first)


async def all_of(chance: random.Random, work: list[Any]) -> None:
    """Runs all at once, in random order."""
    chance.shuffle(work)
    outcomes = await asyncio.gather(*work, return_exceptions=True)
    assert [each for each in outcomes if not isinstance(each, None | StateChanged)] == []


async def half_made(pool: Pool, chance: random.Random) -> RejudgingId:
    standing = await value(
        pool,
        """SELECT array_agg(id) FROM submission WHERE archived_at IS NULL AND staged_in IS NULL
              AND state IN ('COMPLETED', 'FAILED')""",
    )
    chosen = chance.sample(sorted(standing), min(len(standing), 8))
    begun = await begin(pool, RejudgingFilter(ids=chosen))
    making = asyncio.ensure_future(rejudging_set.stage_all(pool, begun))
    for _ in range(chance.randrange(40)):
        await asyncio.sleep(0)
    making.cancel()
    await asyncio.gather(making, return_exceptions=True)
    return begun


async def begin(pool: Pool, wanted: RejudgingFilter) -> RejudgingId:
    async with transaction(pool) as writing:
        return await rejudging_set.begin(writing, wanted, ROOT, None)


async def rejudge(pool: Pool, submission: SubmissionId) -> AcceptedSubmission:
    async with transaction(pool) as writing:
        return await rejudge_one(writing, submission)


async def rejudge_now(pool: Pool, submission: SubmissionId, _actor: Actor) -> None:
    await rejudge(pool, submission)


async def try_to(act: Any, pool: Pool, target: str) -> None:
    """An action that comes too late or too early must raise a refusal, and nothing else."""
    with suppress(Conflict):
        await act(pool, target, ROOT)


async def finish(pool: Pool, artifacts: Artifacts, made: RejudgingId) -> None:
    """Applies the set if the race has not settled it."""
    overview = await rejudging_set.overview(pool, made)
    if overview.rejudging.outcome is None:
        for trial in (await trials(pool, made)).values():
            if (await view(pool, trial)).finished_at is None:
                await end(pool, artifacts, trial, Verdict.ACCEPTED)
        await rejudging_set.apply(pool, made, ROOT)


async def assert_one_stands_for_each(
    pool: Pool, first: dict[SubmissionId, Verdict | None]
) -> None:
    """Of each chain exactly one counts, and the first verdict can still be read."""
    async with connection(pool) as acquired:
        rows = await acquired.fetch(
            """WITH RECURSIVE chain AS (
                   SELECT id, id AS root, archived_at FROM submission WHERE rejudge_of IS NULL
                   UNION ALL
                   SELECT s.id, c.root, s.archived_at FROM submission s
                     JOIN chain c ON s.rejudge_of = c.id WHERE s.staged_in IS NULL)
               SELECT root, count(*) FILTER (WHERE archived_at IS NULL) AS standing
                 FROM chain GROUP BY root"""
        )
    assert {row["root"]: row["standing"] for row in rows} == dict.fromkeys(first, 1)
    for submission, verdict in first.items():
        assert (await view(pool, submission)).verdict == verdict
    assert (
        await value(
            pool,
            """SELECT count(*) FROM submission
                WHERE staged_in IS NOT NULL AND (archived_at IS NULL OR finished_at IS NULL)""",
        )
        == 0
    )


FILL = """
INSERT INTO submission (id, account_id, problem_id, revision, language, source, state, attempt,
    priority, request_digest, verdict, runtime_ms, memory_kb, passed_cases, total_cases,
    started_at, finished_at)
SELECT 'sub_' || to_char(n, 'FM00000000'), $1, $2, $3, 'c', 'x', 'COMPLETED', 1, 1,
       sha256(n::text::bytea), CASE n % 2 WHEN 0 THEN 'Accepted' ELSE 'Wrong Answer' END,
       1, 1, 1, 1, now(), now()
  FROM generate_series(1, $4) AS n"""
COUNT = """
WITH counted AS (
    SELECT account_id, problem_id, count(*) AS submits,
           count(*) FILTER (WHERE verdict = 'Accepted') AS accepted
      FROM submission GROUP BY account_id, problem_id
), of_problem AS (
    INSERT INTO problem_tally SELECT problem_id, submits, accepted FROM counted
)
INSERT INTO account_tally SELECT * FROM counted"""
JUDGE = """
UPDATE submission
   SET state = 'COMPLETED', attempt = 1, started_at = now(), finished_at = now(), verdict =
       'Accepted', runtime_ms = 1, memory_kb = 1, passed_cases = 1, total_cases = 1
 WHERE staged_in = $1"""


async def test_sets_of_ten_thousand_are_made_applied_and_dropped(pool: Pool) -> None:
    """A9: no statement takes too long, without statistics for the planner."""
    summary, ada, many = await make_problem(pool), await make_account(pool), 10_000
    async with connection(pool) as acquired:
        await acquired.execute(FILL, ada, summary.id, summary.digest, many)
        await acquired.execute(COUNT)
        await acquired.execute("ANALYZE")
    dropped = (await rejudging_set.make(pool, SUM, ROOT)).rejudging.id
    assert (await rejudging_set.drop(pool, dropped, ROOT)).progress.cancelled == many
    applied = (await rejudging_set.make(pool, SUM, ROOT)).rejudging.id
    async with connection(pool) as acquired:
        await acquired.execute(JUDGE, applied)
    progress = (await rejudging_set.apply(pool, applied, ROOT)).progress
    assert (progress.applied, progress.verdicts_changed) == (many, many // 2)
    await assert_counted_right(pool)


async def test_trials_do_not_delay_their_users_next_submission(
    pool: Pool, artifacts: Artifacts
) -> None:
    """Q8"""
    for _ in range(3):
        await ended(pool, artifacts)
    await rejudging_set.make(pool, SUM, ROOT)
    mine = await view(pool, await make_submission(pool, await make_account(pool)))
    assert mine.priority == PriorityClass.PRACTICE * PRIORITY_CLASS_WIDTH + 1


async def test_q9_running_trials_do_not_count_towards_user_caps(
    pool: Pool, artifacts: Artifacts
) -> None:
    old = await ended(pool, artifacts)
    made = (await rejudging_set.make(pool, SUM, ROOT)).rejudging.id
    one_each = Caps(per_account=1)
    await start_submission(pool, (await trials(pool, made))[old], caps=one_each)
    first, second = [await make_submission(pool) for _ in range(2)]
    await start_submission(pool, first, caps=one_each)
    with pytest.raises(Full):
        await start_submission(pool, second, caps=one_each)


async def test_q8_rejudges_do_not_delay_their_users_next_submission(
    pool: Pool, artifacts: Artifacts
) -> None:
    """Nor do requeued dead letters, which use the same code."""
    for _ in range(3):
        await rejudge(pool, await ended(pool, artifacts))
    mine = await view(pool, await make_submission(pool, await make_account(pool)))
    assert mine.priority == PriorityClass.PRACTICE * PRIORITY_CLASS_WIDTH + 1


async def test_q9_rejudges_do_not_count_towards_user_caps(
    pool: Pool, artifacts: Artifacts
) -> None:
    again = await rejudge(pool, await ended(pool, artifacts))
    one_each = Caps(per_account=1)
    await start_submission(pool, again.id, caps=one_each)
    await start_submission(pool, await make_submission(pool), caps=one_each)


async def test_j9_outdated_verdicts_are_found_until_none_is_left(
    pool: Pool, artifacts: Artifacts
) -> None:
    """Also submissions that were waiting or running when the first set was made."""
    before = await ended(pool, artifacts, Verdict.WRONG_ANSWER)
    elsewhere = await ended(pool, artifacts, problem="max")
    waiting, running = [await make_submission(pool) for _ in range(2)]
    brief = await start_submission(pool, running)
    revised = await make_problem(pool, text="second")
    late = await make_submission(pool, summary=revised)

    outdated = RejudgingFilter(problem=revised.id, outdated=True)
    first = await rejudging_set.make(pool, outdated, ROOT)
    assert set(await trials(pool, first.rejudging.id)) == {before}
    assert first.under_way == UnfinishedCounts(unended=2, outdated=2)
    everything = await rejudging_set.make(pool, SUM, ROOT)
    assert everything.under_way == UnfinishedCounts(unended=3, outdated=2)
    await rejudging_set.drop(pool, everything.rejudging.id, ROOT)
    await apply_all(pool, artifacts, first.rejudging.id)

    with pytest.raises(Refused, match="2 more are waiting or running, all"):
        await rejudging_set.make(pool, outdated, ROOT)
    await settle(pool, artifacts, brief, judged())
    await end(pool, artifacts, waiting, None)
    await end(pool, artifacts, late, Verdict.ACCEPTED)
    second = await rejudging_set.make(pool, RejudgingFilter(outdated=True), ROOT)
    of = await trials(pool, second.rejudging.id)
    assert set(of) == {running, waiting}
    assert {(await view(pool, each)).revision for each in of.values()} == {revised.digest}
    assert second.under_way == UnfinishedCounts(unended=0, outdated=0)
    await apply_all(pool, artifacts, second.rejudging.id)
    with pytest.raises(Refused, match=r"can be rejudged\.$"):
        await rejudging_set.make(pool, outdated, ROOT)
    assert (await view(pool, elsewhere)).archived_at is None


async def apply_all(pool: Pool, artifacts: Artifacts, made: RejudgingId) -> None:
    for trial in (await trials(pool, made)).values():
        await end(pool, artifacts, trial, Verdict.ACCEPTED)
    await rejudging_set.apply(pool, made, ROOT)
