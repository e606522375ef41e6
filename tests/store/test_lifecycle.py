"""S1, S2, S6: submissions change their state only as the table of moves says."""

import asyncio

import asyncpg
import pytest

from deemster.domain.ids import SubmissionId
from deemster.domain.job import Task
from deemster.domain.job_events import ENTERED_BY
from deemster.domain.lifecycle import IN_STAGE, MOVES, TERMINAL, Event, State
from deemster.store.lifecycle import StateChanged, advance
from deemster.store.pool import Pool, connection
from tests.builders import make_submission

ATTEMPT = 2


async def put_into(pool: Pool, state: State) -> SubmissionId:
    """Sets the state by plain SQL, without the guarded statement."""
    submission = await make_submission(pool)
    async with connection(pool) as acquired:
        await acquired.execute(
            """UPDATE submission SET state = $2, attempt = $3, started_at = now(),
                      finished_at = CASE WHEN $4 THEN now() END, failure = 'because',
                      verdict = CASE WHEN $5 THEN 'Accepted' END,
                      runtime_ms = 1, memory_kb = 1, passed_cases = 1, total_cases = 1,
                      judged_at = CASE WHEN $6 THEN now() END,
                      stages = CASE WHEN $6 THEN ARRAY['submission:analyze'] END
                WHERE id = $1""",
            submission,
            state,
            ATTEMPT,
            state in TERMINAL,
            state in {State.COMPLETED, *IN_STAGE},
            state in IN_STAGE,
        )
    return submission


def stage_in(state: State) -> Task | None:
    """The stage of a submission that `put_into` has put into the state."""
    return Task.ANALYZE if state in IN_STAGE else None


async def read_state(pool: Pool, submission: SubmissionId) -> tuple[State, int, list[str]]:
    async with connection(pool) as acquired:
        row = await acquired.fetchrow("SELECT * FROM submission WHERE id = $1", submission)
        events = await acquired.fetch(
            "SELECT event FROM work_event WHERE work_id = $1 ORDER BY id",
            submission,
        )
    assert row is not None
    return State(row["state"]), row["attempt"], [each["event"] for each in events]


@pytest.mark.parametrize("event", Event)
async def test_every_pair_of_state_and_event_does_what_the_table_says(
    pool: Pool, event: Event
) -> None:
    """S1, S2, S6: each move writes one event, a refused one none."""
    move = MOVES[event]
    stages = [Task.FINALIZE] if event in ENTERED_BY.values() else None
    for state in State:
        submission = await put_into(pool, state)
        if event in {Event.COMPLETE, *ENTERED_BY.values()} and state is State.RUNNING:
            async with connection(pool) as acquired:
                await acquired.execute(
                    "UPDATE submission SET verdict = 'Accepted' WHERE id = $1", submission
                )
        legal = state in move.sources
        async with connection(pool) as acquired:
            if legal:
                step = await advance(
                    acquired,
                    event,
                    submission,
                    ATTEMPT,
                    in_stage=stage_in(state),
                    reason="r",
                    stages=stages,
                )
                assert step.attempt == ATTEMPT + move.bump
            else:
                with pytest.raises(StateChanged):
                    await advance(
                        acquired,
                        event,
                        submission,
                        ATTEMPT,
                        in_stage=stage_in(state),
                        reason="r",
                        stages=stages,
                    )
        after, attempt, events = await read_state(pool, submission)
        assert after is (move.target if legal and move.target else state), (state, event)
        assert attempt == ATTEMPT + (move.bump if legal else 0)
        assert events == ["submit", *([event] if legal else [])]


@pytest.mark.parametrize("event", Event)
async def test_an_old_attempt_changes_nothing(pool: Pool, event: Event) -> None:
    """S2: the attempt fences stale workers."""
    for state in MOVES[event].sources:
        submission = await put_into(pool, state)
        for wrong in (ATTEMPT - 1, ATTEMPT + 1):
            async with connection(pool) as acquired:
                with pytest.raises(StateChanged):
                    await advance(acquired, event, submission, wrong, in_stage=stage_in(state))
        assert await read_state(pool, submission) == (state, ATTEMPT, ["submit"])


@pytest.mark.parametrize("event", Event)
async def test_s2_an_event_of_another_stage_changes_nothing(pool: Pool, event: Event) -> None:
    """S2: one attempt may end a stage and queue the next one, so it does not fence stages."""
    for state in MOVES[event].sources:
        submission = await put_into(pool, state)
        for wrong in {None, Task.ANALYZE, Task.FINALIZE} - {stage_in(state)}:
            async with connection(pool) as acquired:
                with pytest.raises(StateChanged):
                    await advance(acquired, event, submission, ATTEMPT, in_stage=wrong)
        assert await read_state(pool, submission) == (state, ATTEMPT, ["submit"])


async def test_of_many_equal_moves_one_succeeds(pool: Pool) -> None:
    submission = await put_into(pool, State.QUEUED)

    async def start() -> bool:
        async with connection(pool) as acquired:
            try:
                await advance(acquired, Event.START, submission, ATTEMPT)
            except StateChanged:
                return False
            return True

    assert sum(await asyncio.gather(*[start() for _ in range(20)])) == 1
    assert (await read_state(pool, submission))[2] == ["submit", "start"]


WRONG = {
    "a finished row without a verdict": "state = 'COMPLETED', finished_at = now()",
    "a finished row without a time": "state = 'COMPLETED', verdict = 'Accepted'",
    "a running row with an end": "finished_at = now()",
    "an attempt that goes down": "attempt = 1",
    "a verdict of a waiting row": "state = 'QUEUED', verdict = 'Accepted'",
    "a verdict without figures": "verdict = 'Accepted', runtime_ms = NULL",
    "an unknown verdict": "verdict = 'Splendid'",
    "an unknown state": "state = 'LOST'",
    "a failure without a reason": "state = 'FAILED', finished_at = now(), failure = NULL",
    "more passed cases than cases": "passed_cases = 2",
    "a run without a start": "started_at = NULL",
    "a stage without a task": "state = 'ANALYZING', verdict = 'Accepted', judged_at = now()",
    "a stage without a verdict": "state = 'ANALYZING', stages = '{submission:analyze}'",
    "an unknown stage": "state = 'ANALYZING', stages = '{submission:guess}'",
}


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG.keys())
async def test_the_database_refuses_invalid_rows(pool: Pool, wrong: str) -> None:
    submission = await put_into(pool, State.RUNNING)
    async with connection(pool) as acquired:
        with pytest.raises(asyncpg.CheckViolationError):
            await acquired.execute(f"UPDATE submission SET {wrong} WHERE id = $1", submission)


@pytest.mark.parametrize("state", sorted(TERMINAL))
async def test_a_final_state_can_not_be_changed(pool: Pool, state: State) -> None:
    """J12: not even by plain SQL."""
    submission = await put_into(pool, state)
    async with connection(pool) as acquired:
        with pytest.raises(asyncpg.CheckViolationError):
            await acquired.execute(
                "UPDATE submission SET state = 'QUEUED', finished_at = NULL WHERE id = $1",
                submission,
            )


@pytest.mark.parametrize("state", sorted(IN_STAGE))
async def test_s5_no_stage_can_change_a_verdict(pool: Pool, state: State) -> None:
    """S5: not even by plain SQL."""
    submission = await put_into(pool, state)
    async with connection(pool) as acquired:
        with pytest.raises(asyncpg.CheckViolationError):
            await acquired.execute(
                "UPDATE submission SET verdict = 'Wrong Answer' WHERE id = $1", submission
            )


async def test_a_submission_has_one_final_event(pool: Pool) -> None:
    submission = await put_into(pool, State.COMPLETED)
    statement = """INSERT INTO work_event (work_id, event, state, attempt)
                   VALUES ($1, $2, 'COMPLETED', 1)"""
    async with connection(pool) as acquired:
        await acquired.execute(statement, submission, "complete")
        with pytest.raises(asyncpg.UniqueViolationError):
            await acquired.execute(statement, submission, "fail")
