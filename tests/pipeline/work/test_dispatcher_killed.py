"""M2, M3, I3: a dispatcher that is killed between two statements loses and repeats nothing."""

from collections.abc import Iterator
from functools import partial
from itertools import count
from pathlib import Path
from typing import Final

import pytest

from deemster.domain.execution import ExecutionResult, OutputChunk, ProgramIo, Stream
from deemster.domain.ids import SubmissionId, WorkId, new_id
from deemster.domain.job import Job, Task
from deemster.domain.judge_host import JUDGE, JudgeHostId, JudgeId, Purpose
from deemster.domain.retry_policy import MaxTries
from deemster.domain.run_status import RunStatus
from deemster.pipeline.remote.messages import ExecuteOutcome, Failure, Finish, JudgeOutcome
from deemster.pipeline.remote.tasks import read_details
from deemster.pipeline.verdict.attempt import Caps
from deemster.pipeline.verdict.cancel import cancel
from deemster.pipeline.verdict.retry import rescue
from deemster.store import counters, host_workers, judge_hosts, remote_tasks, workers
from deemster.store.pool import Pool, connection, transaction
from deemster.store.remote_tasks import HostRoom
from tests.builders import (
    judged,
    make_execution,
    make_problem,
    make_submission,
    start,
    store_result,
)
from tests.pipeline.work.stepped_dispatcher import TRIES, Dispatcher, SteppedDispatcher
from tests.waiting import until

SLOTS: Final = 1000
SHORT_S: Final = 0.01
LONG_S: Final = 3600
JUDGED = Finish(judge=JudgeOutcome(judgement=judged()))
FAILED = Finish(failure=Failure(error="the disk is full"))
EXECUTED = Finish(
    execute=ExecuteOutcome(
        result=ExecutionResult(RunStatus.OK, exit_code=0),
        output=[OutputChunk(1, 1, Stream.STDOUT, 1, b"1\n")],
    )
)
ENDS = "SELECT count(*) FROM work_event WHERE event = $1"
LEFT = """
SELECT (SELECT count(*) FROM host_message)
     + (SELECT count(*) FROM remote_task WHERE ended_at IS NULL) + (SELECT count(*) FROM lease)
"""


@pytest.fixture(scope="module")
def stepped() -> Iterator[SteppedDispatcher]:
    with SteppedDispatcher.open() as opened:
        yield opened


async def make_room(pool: Pool, address: str | None = None, name: str = "one") -> HostRoom:
    async with transaction(pool) as writing:
        host = await judge_hosts.add(writing, name, created_by="test")
        worker = await host_workers.register(
            writing,
            host,
            slots=SLOTS,
            execution_slots=SLOTS,
            versions={"python3": "3"},
            address=address,
        )
        # No heartbeat is due during the test, however long it takes.
        await writing.execute("UPDATE worker SET seen_at = now() + interval '1 hour'")
    assert worker is not None
    return HostRoom(worker, JudgeHostId(host), address, None)


async def report(pool: Pool, room: HostRoom, task: Task, finish: Finish) -> tuple[WorkId, int]:
    """Makes work that a host has done; returns the number of its task, too."""
    work: WorkId
    if task is Task.EXECUTE:
        work = await make_execution(pool, io=ProgramIo.BATCH)
    else:
        work = await make_submission(pool)
    await start(
        pool,
        work,
        room.worker,
        task=task,
        read=lambda acquired, work: read_details(acquired, task, work),
        lease_s=LONG_S,
        caps=Caps(),
        languages=None,
    )
    judge_id = JudgeId(new_id(JUDGE))
    async with transaction(pool) as writing:
        await remote_tasks.register(writing, judge_id, work, 1, task, room)
        number = await store_result(writing, judge_id, finish.model_dump_json().encode())
    return work, number


@pytest.mark.parametrize(
    ("task", "finish", "is_cancelled", "event"),
    [
        pytest.param(Task.RUN, JUDGED, False, "complete", id="verdict"),
        pytest.param(Task.EXECUTE, EXECUTED, False, "complete", id="execution"),
        pytest.param(Task.RUN, FAILED, False, "retry", id="failure"),
        pytest.param(Task.RUN, JUDGED, True, "cancel", id="superseded"),
    ],
)
async def test_m3_a_killed_receiver_leaves_the_counters_exact(
    pool: Pool,
    database_url: str,
    tmp_path: Path,
    stepped: SteppedDispatcher,
    task: Task,
    finish: Finish,
    is_cancelled: bool,
    event: str,
) -> None:
    """M3, I3: before each statement in turn; the next receiver settles what is not settled."""
    room = await make_room(pool)
    problem = (await make_problem(pool)).id
    second = Dispatcher(pool, tmp_path, LONG_S, [])
    for statement in count(1):
        work, number = await report(pool, room, task, finish)
        if is_cancelled:
            await cancel(pool, work)
        is_done = await stepped.receive(database_url, tmp_path, number, until=statement)
        await second.receive(number)
        async with connection(pool) as reading:
            assert await reading.fetchval(LEFT) == 0
            assert await reading.fetchval(ENDS, event) == statement
            assert await counters.find_mismatches(reading) == []
            counted = statement if finish is JUDGED and not is_cancelled else 0
            counts = await counters.problem_counts(reading, problem)
            assert (counts.submits, counts.accepted) == (counted, counted)
            assert await reading.fetchval("SELECT count(*) FROM judgement") == counted
            dropped = {"superseded_judge_id": statement} if is_cancelled else {}
            assert await judge_hosts.refusals(reading) == dropped
            chunks = await reading.fetchval("SELECT count(*) FROM execution_output")
            assert chunks == (statement if finish is EXECUTED else 0)
        if is_done:
            break
    assert statement > 5, "it was killed within the transaction"


async def test_m5_a_killed_receiver_still_compares_two_hosts(
    pool: Pool, database_url: str, tmp_path: Path, stepped: SteppedDispatcher
) -> None:
    """M3, M5, I3: killed when it asks the second host, and when it settles both results."""
    one, two = await make_room(pool), await make_room(pool, name="two")
    problem = (await make_problem(pool)).id
    second = Dispatcher(pool, tmp_path, LONG_S, [], share=1)
    for statement in count(1):
        work, number = await report(pool, one, Task.RUN, JUDGED)
        is_done = await stepped.receive(
            database_url, tmp_path, number, until=statement, share=1
        )
        await second.receive(number)
        async with transaction(pool) as writing:
            (asked,) = [
                task for task, _ in await remote_tasks.claim(writing, two.host, two.worker)
            ]
            assert (asked.work, asked.purpose) == (work, Purpose.CHECK)
            body = JUDGED.model_dump_json().encode()
            await store_result(writing, asked.judge_id, body)
        is_done &= await stepped.receive(
            database_url, tmp_path, asked.number, until=statement, share=1
        )
        await second.receive(asked.number)
        await second.receive(number)
        async with connection(pool) as reading:
            assert await reading.fetchval(LEFT) == 0
            assert await reading.fetchval(ENDS, "complete") == statement
            assert await counters.find_mismatches(reading) == []
            counts = await counters.problem_counts(reading, problem)
            assert (counts.submits, counts.accepted) == (statement, statement)
            assert await judge_hosts.refusals(reading) == {}
        if is_done:
            break


LEASE = "SELECT worker_id FROM lease WHERE work_id = $1"
STATE = "SELECT state FROM submission WHERE id = $1"
MAKE_OLD = "UPDATE host_message SET received_at = now() - $1 * interval '1 minute'"


async def test_m5_the_result_of_a_cancelled_submission_waits_for_no_check(
    pool: Pool, tmp_path: Path
) -> None:
    """M3, M5: the dispatcher does not look at it again and again."""
    one, two = await make_room(pool), await make_room(pool, name="two")
    dispatcher = Dispatcher(pool, tmp_path, LONG_S, [], share=1)
    work, number = await report(pool, one, Task.RUN, JUDGED)
    assert not await dispatcher.receive(number), "it waits"
    async with connection(pool) as acquired:
        assert await acquired.fetchval(LEASE, work) == two.worker
        await acquired.execute(MAKE_OLD, 1)
    assert await dispatcher.receiver.receive_waiting() == 0
    await cancel(pool, work)
    assert await dispatcher.receiver.receive_waiting() == 1
    async with connection(pool) as reading:
        assert await remote_tasks.list_unsettled(reading, older_than_s=0, limit=9) == []
        assert await judge_hosts.refusals(reading) == {"superseded_judge_id": 1}
    assert await dispatcher.receiver.receive_waiting() == 0


async def test_m5_the_first_verdict_counts_if_the_host_that_checks_it_dies(
    pool: Pool, tmp_path: Path
) -> None:
    """Q6, M5: also in the last attempt; the watchdog neither repeats nor fails it."""
    one, two = await make_room(pool), await make_room(pool, name="two")
    dispatcher = Dispatcher(pool, tmp_path, LONG_S, [], share=1)
    work, number = await report(pool, one, Task.RUN, JUDGED)
    assert not await dispatcher.receive(number)
    async with connection(pool) as acquired:
        await workers.mark_gone(acquired, [two.worker])
        await acquired.execute(MAKE_OLD, 1)
    assert await rescue(pool, max_tries=MaxTries(1, 1)) == 0
    assert await dispatcher.receiver.receive_waiting() == 1
    assert await rescue(pool, max_tries=MaxTries(1, 1)) == 0
    async with connection(pool) as reading:
        assert await reading.fetchval(STATE, work) == "COMPLETED"
        assert await reading.fetchval(ENDS, "complete") == 1
        assert await reading.fetchval(LEFT) == 0
        assert await judge_hosts.refusals(reading) == {}


async def test_q6_a_result_that_no_dispatcher_settles_is_given_up(pool: Pool) -> None:
    """Q6: after a change to local workers no dispatcher runs, and they judge it again."""
    room = await make_room(pool)
    work, _ = await report(pool, room, Task.RUN, JUDGED)
    async with connection(pool) as acquired:
        await workers.mark_gone(acquired, [room.worker])
        await acquired.execute(MAKE_OLD, 59)
        assert await rescue(pool, max_tries=TRIES) == 0
        await acquired.execute(MAKE_OLD, 61)
        assert await rescue(pool, max_tries=TRIES) == 1
        assert await acquired.fetchval(STATE, work) == "QUEUED"


@pytest.mark.parametrize("address", [None, "http://127.0.0.1:9"])
async def test_m2_a_killed_transmitter_loses_no_submission(
    pool: Pool,
    database_url: str,
    tmp_path: Path,
    stepped: SteppedDispatcher,
    address: str | None,
) -> None:
    """M2, Q6, I3: a host gets each task, and each submission is counted once."""
    room = await make_room(pool, address)
    summary = await make_problem(pool)
    second = Dispatcher(pool, tmp_path, LONG_S, [])
    for statement in count(1):
        submission = await make_submission(pool, summary=summary)
        first = Job(submission, Task.RUN, 1, 1, 0, summary.id, summary.digest)
        is_done = await stepped.transmit(
            database_url, tmp_path, first, until=statement, lease_s=SHORT_S
        )
        await second.transmit(first)  # the queue delivers the job of a dead process again
        judge_id = await until(partial(current_task, pool, second, submission))
        assert judge_id is not None
        async with transaction(pool) as writing:
            if address is None:
                claimed = await remote_tasks.claim(writing, room.host, room.worker)
                assert [task.judge_id for task, _ in claimed] == [judge_id]
            else:
                assert second.pushed.count(judge_id) == 1
            body = JUDGED.model_dump_json().encode()
            number = await store_result(writing, judge_id, body)
        await second.receive(number)
        async with connection(pool) as reading:
            assert await reading.fetchval(ENDS, "complete") == statement
            assert await counters.find_mismatches(reading) == []
            counts = await counters.problem_counts(reading, summary.id)
            assert (counts.submits, counts.accepted) == (statement, statement)
            assert await reading.fetchval("SELECT count(*) FROM lease") == 0
            assert await judge_hosts.refusals(reading) == {}
        if is_done:
            break
    assert statement > 5, "it was killed after it began the attempt"


REQUEUED = "SELECT dispatch, attempt FROM outbox WHERE work_id = $1 AND dispatch > 1"
CURRENT = """
SELECT t.judge_id FROM remote_task t JOIN lease l USING (work_id, attempt)
 WHERE t.work_id = $1 AND l.lease_s = $2
"""


async def current_task(
    pool: Pool, dispatcher: Dispatcher, submission: SubmissionId
) -> JudgeId | None:
    """Of the second dispatcher; until then the watchdog rescues what the first one began."""
    await rescue(pool, max_tries=TRIES)
    async with connection(pool) as reading:
        sent = await reading.fetch(REQUEUED, submission)
    for dispatch, attempt in sent:
        await dispatcher.transmit(Job(submission, Task.RUN, dispatch, 1, attempt))
    async with connection(pool) as reading:
        found = await reading.fetchval(CURRENT, submission, LONG_S)
    return JudgeId(found) if found is not None else None
