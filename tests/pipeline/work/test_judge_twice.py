"""M5: several processes that receive the same result ask one more host, and end it once."""

import asyncio
from pathlib import Path
from typing import Any, Final

import pytest

from deemster.domain.job import Task
from deemster.domain.judge_host import Purpose
from deemster.domain.submission import SubmissionDetails
from deemster.pipeline.remote.tasks import read_details
from deemster.pipeline.verdict.cancel import cancel_in
from deemster.pipeline.work.judge_twice import DoubleJudging
from deemster.store import counters, remote_tasks
from deemster.store.lifecycle import lock_state
from deemster.store.pool import Pool, connection, transaction
from deemster.store.remote_tasks import SiblingTask
from tests.builders import make_problem, store_result
from tests.pipeline.work.stepped_dispatcher import Dispatcher
from tests.pipeline.work.test_dispatcher_killed import JUDGED, LEFT, LONG_S, make_room, report
from tests.store.conftest import is_waiting_for_a_lock
from tests.waiting import until

PURPOSES: Final = "SELECT purpose FROM remote_task ORDER BY number"


async def test_m5_two_receivers_of_one_result_ask_one_host(
    pool: Pool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """M3, M5: both have read that no other host has the submission."""
    one, *others = [await make_room(pool, name=name) for name in ("one", "two", "three")]
    problem = await make_problem(pool)
    dispatcher = Dispatcher(pool, tmp_path, LONG_S, [], share=1)
    _, number = await report(pool, one, Task.RUN, JUDGED)
    both = asyncio.Barrier(2)
    read = remote_tasks.siblings

    async def read_together(*arguments: Any) -> list[SiblingTask]:
        found = await read(*arguments)
        await both.wait()
        return found

    with monkeypatch.context() as patched:
        patched.setattr(remote_tasks, "siblings", read_together)
        await asyncio.gather(dispatcher.receive(number), dispatcher.receive(number))
    async with connection(pool) as reading:
        purposes = [row["purpose"] for row in await reading.fetch(PURPOSES)]
    assert purposes == [Purpose.RUN, Purpose.CHECK]
    async with transaction(pool) as writing:
        ((asked, _),) = [
            found
            for room in others
            for found in await remote_tasks.claim(writing, room.host, room.worker)
        ]
        await store_result(writing, asked.judge_id, JUDGED.model_dump_json().encode())
    assert await dispatcher.receive(asked.number)
    async with connection(pool) as reading:
        assert await reading.fetchval(LEFT) == 0
        counts = await counters.problem_counts(reading, problem.id)
    assert (counts.submits, counts.accepted) == (1, 1)


async def test_m5_nothing_is_decided_that_another_receiver_has_decided(
    pool: Pool, tmp_path: Path
) -> None:
    """The other one has ended the tasks after this one read the result."""
    dispatcher = Dispatcher(pool, tmp_path, LONG_S, [])
    work, number = await report(pool, await make_room(pool), Task.RUN, JUDGED)
    async with connection(pool) as reading:
        found = await remote_tasks.find_result(reading, number)
        details = await read_details(reading, Task.RUN, work)
    assert found is not None
    assert isinstance(details, SubmissionDetails)
    assert await dispatcher.receive(number)
    judging = DoubleJudging(pool, 1, dispatcher.transmitter.deliver)
    assert await judging.agree(found[0], details, JUDGED) is None


async def test_m5_a_cancel_and_a_question_to_another_host_wait_for_each_other_in_turn(
    pool: Pool, tmp_path: Path
) -> None:
    """A10: they are not in a deadlock."""
    one, _ = [await make_room(pool, name=name) for name in ("one", "two")]
    dispatcher = Dispatcher(pool, tmp_path, LONG_S, [], share=1)
    work, number = await report(pool, one, Task.RUN, JUDGED)
    async with asyncio.TaskGroup() as group, transaction(pool) as writing:
        await lock_state(writing, work)
        group.create_task(dispatcher.receive(number))
        await until(lambda: is_waiting_for_a_lock(pool))
        await cancel_in(writing, work)
    async with connection(pool) as reading:
        assert (
            await reading.fetchval("SELECT state FROM work WHERE id = $1", work) == "CANCELLED"
        )
