"""`deemster dlq`: an admin lists, inspects, requeues or discards dead letters (Q7)."""

import pytest
import structlog

from deemster.cli import dlq
from deemster.domain.errors import Unavailable
from deemster.domain.ids import SubmissionId
from deemster.domain.job import Task
from deemster.domain.lifecycle import State
from deemster.pipeline.verdict.retry import retry_or_fail
from deemster.store import audit, dead_letters, submissions
from deemster.store.pool import Pool, connection
from tests.builders import make_submission, queue_submission, start_submission
from tests.cli.conftest import Deemster


@pytest.fixture
async def dead(pool: Pool) -> SubmissionId:
    """A submission whose last attempt failed."""
    submission = await make_submission(pool)
    await queue_submission(pool, submission)
    running = await start_submission(pool, submission)
    with structlog.testing.capture_logs():  # the output of the command is compared
        await retry_or_fail(pool, running, Unavailable("the sandbox broke"), max_tries=1)
    return submission


async def number_of(pool: Pool, submission: SubmissionId) -> int:
    async with connection(pool) as acquired:
        letters = await dead_letters.page(acquired)
    return next(letter.id for letter in letters if letter.work == submission)


async def test_q7_a_dead_letter_is_listed_and_shown(
    operate: Deemster, pool: Pool, dead: SubmissionId
) -> None:
    number = await number_of(pool, dead)
    [listed] = operate("dlq", "list", "--json").json["letters"]
    assert (listed["id"], listed["submission"], listed["attempt"]) == (number, dead, 1)
    assert "the sandbox broke" in operate("dlq", "list").out.decode()
    shown = operate("dlq", "show", str(number), "--json").json
    assert shown["error"] == "Unavailable: the sandbox broke"
    assert shown["context"]["language"] == "python3"
    assert f"submission: {dead}".encode() in operate("dlq", "show", str(number)).out


async def test_q7_dead_letters_beyond_one_page_are_listed_too(
    operate: Deemster, pool: Pool, dead: SubmissionId, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dlq, "PAGE", 2)
    first = await number_of(pool, dead)
    async with connection(pool) as acquired:
        for attempt in range(2, 6):
            await dead_letters.add(acquired, dead, Task.RUN, attempt, "again", {})
    listed = operate("dlq", "list", "--json").json["letters"]
    assert [each["attempt"] for each in listed] == [5, 4, 3, 2, 1]
    assert listed[-1]["id"] == first


async def test_q7_a_requeued_dead_letter_keeps_its_history(
    operate: Deemster, pool: Pool, dead: SubmissionId
) -> None:
    number = await number_of(pool, dead)
    done = operate("dlq", "requeue", str(number), "--json")
    assert done.code == 0, done.err
    fresh = SubmissionId(done.json["requeued"][str(number)])
    async with connection(pool) as acquired:
        letter = await dead_letters.get(acquired, number)
        old = await submissions.get(acquired, dead)
        new = await submissions.get(acquired, fresh)
    assert letter is not None
    assert (letter.outcome, letter.requeued_as) == ("requeued", fresh)
    assert letter.settled_by
    assert old is not None
    assert (old.state, old.superseded_by) == (State.FAILED, fresh)
    assert new is not None
    assert new.state is State.PENDING
    assert operate("dlq", "list", "--json").json["letters"] == []
    assert len(operate("dlq", "list", "--all", "--json").json["letters"]) == 1


async def test_q7_a_dead_letter_is_settled_only_once(
    operate: Deemster, pool: Pool, dead: SubmissionId
) -> None:
    number = str(await number_of(pool, dead))
    assert operate("dlq", "discard", number).out.decode() == f"{number}: discarded\n"
    again = operate("dlq", "requeue", number)
    assert again.code == 2
    assert "was already" in again.err


async def test_the_audit_log_names_who_settled_a_dead_letter(
    operate: Deemster, pool: Pool, dead: SubmissionId
) -> None:
    number = str(await number_of(pool, dead))
    operate("dlq", "requeue", number)
    operate("dlq", "discard", number)
    async with connection(pool) as acquired:
        [entry] = await audit.page(acquired, before=None, limit=10)
    assert (entry.act, entry.target, entry.account) == ("dead_letter.requeue", number, None)
    assert entry.actor.endswith(" by command")


def test_an_unknown_dead_letter_is_an_error(operate: Deemster) -> None:
    done = operate("dlq", "show", "77")
    assert done.code == 2
    assert "There is no dead letter 77" in done.err
    assert operate("dlq", "list").out == b"There are no dead letters.\n"
