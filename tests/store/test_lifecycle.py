"""S1, S2, S6: every step that there is, and none that there isn't."""

import asyncio
from collections.abc import AsyncIterator

import asyncpg
import pytest

from deemster.domain.ids import SubmissionId
from deemster.domain.lifecycle import MOVES, TERMINAL, Event, State
from deemster.store.lifecycle import StateChanged, advance
from deemster.store.pool import Pool, connection, open_pool
from tests.builders import make_submission

ATTEMPT = 2


@pytest.fixture
async def pool(database_url: str) -> AsyncIterator[Pool]:
    async with open_pool(database_url, name="test") as opened:
        yield opened


async def put_into(pool: Pool, state: State) -> SubmissionId:
    """Past the guarded way, on purpose: each state, however one gets there."""
    submission = await make_submission(pool)
    async with connection(pool) as acquired:
        await acquired.execute(
            """UPDATE submission SET state = $2, attempt = $3, started_at = now(),
                      finished_at = CASE WHEN $4 THEN now() END, failure = 'because',
                      verdict = CASE WHEN $5 THEN 'Accepted' END,
                      runtime_ms = 1, memory_kb = 1, passed_cases = 1, total_cases = 1
                WHERE id = $1""",
            submission,
            state,
            ATTEMPT,
            state in TERMINAL,
            state in {State.COMPLETED, State.ANALYZING, State.AI_EVALUATING},
        )
    return submission


async def look(pool: Pool, submission: SubmissionId) -> tuple[State, int, list[str]]:
    async with connection(pool) as acquired:
        row = await acquired.fetchrow("SELECT * FROM submission WHERE id = $1", submission)
        events = await acquired.fetch(
            "SELECT event FROM submission_event WHERE submission_id = $1 ORDER BY id",
            submission,
        )
    assert row is not None
    return State(row["state"]), row["attempt"], [each["event"] for each in events]


@pytest.mark.parametrize("event", Event)
async def test_every_pair_of_state_and_event_does_what_the_table_says(
    pool: Pool, event: Event
) -> None:
    """S1, S2, S6: one event for each step, nothing for a refused one."""
    move = MOVES[event]
    for state in State:
        submission = await put_into(pool, state)
        if event is Event.COMPLETE and state is State.RUNNING:
            async with connection(pool) as acquired:
                await acquired.execute(
                    "UPDATE submission SET verdict = 'Accepted' WHERE id = $1", submission
                )
        legal = state in move.sources
        async with connection(pool) as acquired:
            if legal:
                step = await advance(acquired, event, submission, ATTEMPT, reason="r")
                assert step.attempt == ATTEMPT + move.bump
            else:
                with pytest.raises(StateChanged):
                    await advance(acquired, event, submission, ATTEMPT, reason="r")
        after, attempt, events = await look(pool, submission)
        assert after is (move.target if legal else state), (state, event)
        assert attempt == ATTEMPT + (move.bump if legal else 0)
        assert events == ["submit", *([event] if legal else [])]


@pytest.mark.parametrize("event", Event)
async def test_an_attempt_that_is_over_moves_nothing(pool: Pool, event: Event) -> None:
    """S2: the attempt is the fence."""
    for state in MOVES[event].sources:
        submission = await put_into(pool, state)
        for wrong in (ATTEMPT - 1, ATTEMPT + 1):
            async with connection(pool) as acquired:
                with pytest.raises(StateChanged):
                    await advance(acquired, event, submission, wrong)
        assert await look(pool, submission) == (state, ATTEMPT, ["submit"])


async def test_of_many_who_take_the_same_step_one_does(pool: Pool) -> None:
    submission = await put_into(pool, State.QUEUED)

    async def begin() -> bool:
        async with connection(pool) as acquired:
            try:
                await advance(acquired, Event.START, submission, ATTEMPT)
            except StateChanged:
                return False
            return True

    assert sum(await asyncio.gather(*[begin() for _ in range(20)])) == 1
    assert (await look(pool, submission))[2] == ["submit", "start"]


WRONG = {
    "a finished row without a verdict": "state = 'COMPLETED', finished_at = now()",
    "a finished row without a time": "state = 'COMPLETED', verdict = 'Accepted'",
    "a running row with an end": "finished_at = now()",
    "an attempt that goes down": "attempt = 1",
    "a verdict of a row that waits": "state = 'QUEUED', verdict = 'Accepted'",
    "a verdict without figures": "verdict = 'Accepted', runtime_ms = NULL",
    "a verdict that there isn't": "verdict = 'Splendid'",
    "a state that there isn't": "state = 'LOST'",
    "a failure without a reason": "state = 'FAILED', finished_at = now(), failure = NULL",
    "more passed than there are": "passed_cases = 2",
    "a run that never began": "started_at = NULL",
}


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG.keys())
async def test_the_database_refuses(pool: Pool, wrong: str) -> None:
    submission = await put_into(pool, State.RUNNING)
    async with connection(pool) as acquired:
        with pytest.raises(asyncpg.CheckViolationError):
            await acquired.execute(f"UPDATE submission SET {wrong} WHERE id = $1", submission)


@pytest.mark.parametrize("state", sorted(TERMINAL))
async def test_nothing_changes_an_end(pool: Pool, state: State) -> None:
    """J12: not even SQL that goes past the guarded way."""
    submission = await put_into(pool, state)
    async with connection(pool) as acquired:
        with pytest.raises(asyncpg.CheckViolationError):
            await acquired.execute(
                "UPDATE submission SET state = 'QUEUED', finished_at = NULL WHERE id = $1",
                submission,
            )


async def test_there_is_one_last_event(pool: Pool) -> None:
    submission = await put_into(pool, State.COMPLETED)
    statement = """INSERT INTO submission_event (submission_id, event, state, attempt)
                   VALUES ($1, $2, 'COMPLETED', 1)"""
    async with connection(pool) as acquired:
        await acquired.execute(statement, submission, "complete")
        with pytest.raises(asyncpg.UniqueViolationError):
            await acquired.execute(statement, submission, "fail")
