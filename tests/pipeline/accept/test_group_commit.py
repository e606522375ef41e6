"""Concurrent submissions are written together, and each gets its own answer."""

import asyncio
import hashlib
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import asyncpg
import pytest

from deemster.domain.ids import SUBMISSION, AccountId, SubmissionId, new_id
from deemster.domain.job import MAX_AHEAD
from deemster.domain.submission import NewSubmission
from deemster.pipeline.accept.group_commit import CONCURRENT_STATEMENTS, MIN_BATCH, GroupCommit
from deemster.store.idempotency_keys import KeyReused
from deemster.store.migrations import migrate
from deemster.store.pool import DatabaseDown, Pool, connection, open_pool
from deemster.store.problems import ProblemSummary
from deemster.store.submission_inserts import SubmissionInsert, insert_all
from tests.builders import make_account, make_problem
from tests.services.postgres import OwnPostgres
from tests.waiting import until

MANY = 40
HELD = """
SET LOCAL idle_in_transaction_session_timeout = 0;
LOCK TABLE submission IN EXCLUSIVE MODE
"""


def insert_of(
    account: AccountId, summary: ProblemSummary, *, key: str | None = None, text: bytes = b""
) -> SubmissionInsert:
    text = text or secrets.token_bytes(8)
    new = NewSubmission(
        id=SubmissionId(new_id(SUBMISSION)),
        account=account,
        problem=summary.id,
        revision=summary.digest,
        language="python3",
        main="main.py",
        source=hashlib.sha256(text).hexdigest(),
        request_digest=hashlib.sha256(text).digest(),
        idempotency_key=key,
    )
    return SubmissionInsert(new, text)


@pytest.fixture
async def ada(pool: Pool) -> AccountId:
    return await make_account(pool)


@pytest.fixture
async def summary(pool: Pool) -> ProblemSummary:
    return await make_problem(pool)


async def transactions_of(pool: Pool) -> int:
    """Number of transactions that wrote the submissions."""
    async with connection(pool) as acquired:
        return int(await acquired.fetchval("SELECT count(DISTINCT xmin::text) FROM work"))


async def rows_of(pool: Pool, table: str) -> int:
    async with connection(pool) as acquired:
        return int(await acquired.fetchval(f"SELECT count(*) FROM {table}"))


async def test_concurrent_submissions_share_statements_and_each_gets_row_event_and_job(
    pool: Pool, ada: AccountId, summary: ProblemSummary
) -> None:
    """Q2: submission, outbox row and event exist when the answer is given."""
    group_commit = GroupCommit(pool, insert_all)
    arrivals = [insert_of(ada, summary) for _ in range(MANY)]
    answers = await asyncio.gather(*(group_commit.write(each) for each in arrivals))
    assert [accepted.id for accepted, _ in answers] == [each.new.id for each in arrivals]
    assert all(fresh for _, fresh in answers)
    assert await transactions_of(pool) <= 2 * CONCURRENT_STATEMENTS
    for table in ("submission", "work_event", "outbox", "artifact"):
        assert await rows_of(pool, table) == MANY


async def test_a_single_submission_is_written_at_once(
    pool: Pool, ada: AccountId, summary: ProblemSummary
) -> None:
    group_commit = GroupCommit(pool, insert_all)
    for _ in range(3):
        await group_commit.write(insert_of(ada, summary))
    assert await transactions_of(pool) == 3


async def test_duplicates_in_one_statement_are_one_submission(
    pool: Pool, ada: AccountId, summary: ProblemSummary
) -> None:
    """I1, I2: fifty equal answers, and one refusal for a different request."""
    group_commit = GroupCommit(pool, insert_all)
    same = [insert_of(ada, summary, key="k", text=b"same") for _ in range(50)]
    other = insert_of(ada, summary, key="k", text=b"other")
    first, _ = await group_commit.write(same[0])
    told = await asyncio.gather(
        *(group_commit.write(each) for each in same[1:]),
        group_commit.write(other),
        return_exceptions=True,
    )
    assert isinstance(told.pop(), KeyReused)
    assert told == [(first, False)] * 49
    assert await rows_of(pool, "submission") == 1


async def test_concurrent_first_requests_with_one_key_are_one_submission(
    pool: Pool, ada: AccountId, summary: ProblemSummary
) -> None:
    """I1"""
    group_commit = GroupCommit(pool, insert_all)
    same = [insert_of(ada, summary, key="k", text=b"same") for _ in range(50)]
    told = await asyncio.gather(*(group_commit.write(each) for each in same))
    assert len({accepted for accepted, _ in told}) == 1
    assert [fresh for _, fresh in told].count(True) == 1
    assert await rows_of(pool, "submission") == 1


async def test_keys_in_opposite_order_do_not_deadlock(
    pool: Pool, ada: AccountId, summary: ProblemSummary
) -> None:
    keys = [f"k{number}" for number in range(20)]
    for _ in range(5):
        prefix = secrets.token_hex(4)
        there = [insert_of(ada, summary, key=prefix + key, text=key.encode()) for key in keys]
        back = [
            insert_of(ada, summary, key=prefix + key, text=key.encode())
            for key in reversed(keys)
        ]
        async with connection(pool) as one, connection(pool) as other:
            told = await asyncio.gather(insert_all(one, there), insert_all(other, back))
        fresh = [each[1] for answers in told for each in answers if isinstance(each, tuple)]
        assert fresh.count(True) == len(keys)
        assert len(fresh) == 2 * len(keys)


async def test_a_submission_that_cannot_be_written_does_not_fail_the_others(
    pool: Pool, ada: AccountId, summary: ProblemSummary
) -> None:
    group_commit = GroupCommit(pool, insert_all)
    arrivals = [insert_of(ada, summary) for _ in range(MANY)]
    nobody = insert_of(AccountId("usr_nobody"), summary)
    told = await asyncio.gather(
        *(group_commit.write(each) for each in [*arrivals, nobody]), return_exceptions=True
    )
    assert isinstance(told.pop(), asyncpg.ForeignKeyViolationError)
    assert not [each for each in told if isinstance(each, BaseException)]
    assert await rows_of(pool, "submission") == MANY


async def test_a_users_nth_submission_ranks_nth_up_to_a_bound(
    pool: Pool, ada: AccountId, summary: ProblemSummary
) -> None:
    """Q8: in one statement or in several."""
    bob = await make_account(pool, "bob")
    async with connection(pool) as acquired:
        await insert_all(acquired, [insert_of(ada, summary) for _ in range(3)])
        await insert_all(acquired, [insert_of(who, summary) for who in (ada, bob, ada, bob)])
        await insert_all(acquired, [insert_of(ada, summary) for _ in range(MAX_AHEAD)])
        ranks = {
            who: [
                row["rank"]
                for row in await acquired.fetch(
                    "SELECT priority % 500000 AS rank FROM submission WHERE account_id = $1 "
                    "ORDER BY rank",
                    who,
                )
            ]
            for who in (ada, bob)
        }
    assert ranks[bob] == [1, 2]
    last = MAX_AHEAD + 1
    assert ranks[ada] == [*range(1, last), *[last] * 5]


async def test_a_cancelled_request_is_not_written_and_delays_nobody(
    pool: Pool, ada: AccountId, summary: ProblemSummary
) -> None:
    group_commit = GroupCommit(pool, insert_all)
    async with asyncio.TaskGroup() as group:
        tasks = [
            group.create_task(group_commit.write(insert_of(ada, summary)))
            for _ in range(MIN_BATCH)
        ]
        await asyncio.sleep(0)  # the first is under way, the others wait
        for task in tasks[1::2]:
            task.cancel()
    kept = [task.result()[0].id for task in tasks if not task.cancelled()]
    assert len(kept) == MIN_BATCH // 2
    assert await rows_of(pool, "submission") == len(kept)


async def test_a_full_batch_starts_beside_a_running_statement(
    pool: Pool, ada: AccountId, summary: ProblemSummary
) -> None:
    group_commit = GroupCommit(pool, insert_all)
    async with locked(pool):
        tasks = [asyncio.ensure_future(group_commit.write(insert_of(ada, summary)))]
        await until_blocked(pool, 1)
        tasks += [
            asyncio.ensure_future(group_commit.write(insert_of(ada, summary)))
            for _ in range(MIN_BATCH - 1)
        ]
        await asyncio.sleep(0)
        await until_blocked(pool, 1)
        tasks.append(asyncio.ensure_future(group_commit.write(insert_of(ada, summary))))
        await until_blocked(pool, 2)
    await asyncio.gather(*tasks)
    assert await transactions_of(pool) == 2


async def test_when_the_writing_task_is_cancelled_the_next_batch_is_written(
    pool: Pool, ada: AccountId, summary: ProblemSummary
) -> None:
    group_commit = GroupCommit(pool, insert_all)
    for _ in range(
        CONCURRENT_STATEMENTS + 1
    ):  # a lane that is lost each time would be missing then
        async with locked(pool):
            writing = asyncio.ensure_future(group_commit.write(insert_of(ada, summary)))
            await until_blocked(pool, 1)
            waiting = [
                asyncio.ensure_future(group_commit.write(insert_of(ada, summary))) for _ in "ab"
            ]
            await asyncio.sleep(0)
            writing.cancel()
            with pytest.raises(asyncio.CancelledError):
                await writing
        await asyncio.gather(*waiting)
    assert await rows_of(pool, "submission") == 2 * (CONCURRENT_STATEMENTS + 1)


async def test_requests_in_a_cancelled_batch_are_told_to_try_again(
    pool: Pool, ada: AccountId, summary: ProblemSummary
) -> None:
    """D5"""
    group_commit = GroupCommit(pool, insert_all)
    async with locked(pool):
        first = asyncio.ensure_future(group_commit.write(insert_of(ada, summary)))
        await until_blocked(pool, 1)
        writing, *along = [
            asyncio.ensure_future(group_commit.write(insert_of(ada, summary))) for _ in range(5)
        ]
        await asyncio.sleep(0)
        for task in (first, writing):
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            if task is first:
                await until_blocked(pool, 1)
        told = await asyncio.gather(*along, return_exceptions=True)
        assert all(isinstance(each, DatabaseDown) for each in told)
    await group_commit.write(insert_of(ada, summary))
    assert await rows_of(pool, "submission") == 1


@asynccontextmanager
async def locked(pool: Pool) -> AsyncIterator[None]:
    """Blocks every insert of a submission."""
    async with connection(pool) as holding, holding.transaction():
        await holding.execute(HELD)
        yield


async def until_blocked(pool: Pool, count: int) -> None:
    """A statement that is cancelled before the server has begun it is not cancelled at all."""
    async with connection(pool) as acquired:

        async def are_blocked() -> bool:
            found = await acquired.fetchval(
                "SELECT count(*) FROM pg_stat_activity "
                "WHERE wait_event_type = 'Lock' AND datname = current_database()"
            )
            return bool(found == count)

        await until(are_blocked)


async def test_during_an_outage_all_requests_fail_and_afterwards_all_are_written(
    tmp_path: Path,
) -> None:
    async with OwnPostgres(tmp_path) as server:
        await migrate(server.url)
        async with open_pool(server.url, name="test") as pool:
            ada, summary = await make_account(pool), await make_problem(pool)
            group_commit = GroupCommit(pool, insert_all)
            await group_commit.write(insert_of(ada, summary))
            await server.stop()
            told = await asyncio.gather(
                *(group_commit.write(insert_of(ada, summary)) for _ in range(MANY)),
                return_exceptions=True,
            )
            assert all(isinstance(each, DatabaseDown) for each in told)
            await server.start()
            answers = await asyncio.gather(
                *(group_commit.write(insert_of(ada, summary)) for _ in range(MANY))
            )
            assert all(fresh for _, fresh in answers)
            assert await rows_of(pool, "submission") == 1 + MANY
