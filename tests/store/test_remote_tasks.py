"""M2: a host gets one task more than it has slots, after all hosts that have a free slot."""

from deemster.domain.execution import ProgramIo
from deemster.domain.ids import WorkerId, new_id
from deemster.domain.job import Task
from deemster.domain.judge_host import CHECKS_AHEAD, JUDGE, TASKS_AHEAD, JudgeHostId, JudgeId
from deemster.store import host_workers, judge_hosts, remote_tasks
from deemster.store.pool import Pool, transaction
from deemster.store.remote_tasks import HostRoom, RemoteTask
from tests.builders import (
    make_execution,
    make_submission,
    queue_submission,
    start_submission,
    store_result,
)


async def make_room(pool: Pool, name: str, slots: int) -> HostRoom:
    async with transaction(pool) as writing:
        host = await judge_hosts.add(writing, name, created_by="ada")
        worker = await host_workers.register(
            writing, host, slots=slots, execution_slots=1, versions={"python3": "3"}
        )
    assert worker is not None
    return HostRoom(worker, host, None, None)


async def find(pool: Pool, *, ahead: int, executes: bool = False) -> HostRoom | None:
    async with transaction(pool) as writing:
        return await remote_tasks.find_host(
            writing,
            await make_submission(pool),
            "python3",
            executes=executes,
            revision=None,
            ahead=ahead,
        )


async def give_task(pool: Pool, room: HostRoom) -> RemoteTask:
    submission = await make_submission(pool)
    await queue_submission(pool, submission)
    started = await start_submission(pool, submission, room.worker)
    async with transaction(pool) as writing:
        judge_id = JudgeId(new_id(JUDGE))
        return await remote_tasks.register(
            writing, judge_id, submission, started.attempt, Task.RUN, room
        )


async def test_m2_a_task_waits_for_a_slot_only_if_no_host_has_a_free_one(pool: Pool) -> None:
    one = await make_room(pool, "one", 1)
    await give_task(pool, one)
    assert await find(pool, ahead=0) is None
    assert await find(pool, ahead=TASKS_AHEAD) == one
    two = await make_room(pool, "two", 1)
    assert await find(pool, ahead=TASKS_AHEAD) == two
    for room in (one, two, two):
        await give_task(pool, room)
    assert await find(pool, ahead=TASKS_AHEAD) is None
    assert await find(pool, ahead=CHECKS_AHEAD) is not None
    assert await find(pool, ahead=0, executes=True) is not None


async def test_m1_a_host_claims_no_tasks_of_another_host(pool: Pool) -> None:
    """M1: even if it knows the worker id of that host. Each task is claimed once (M2)."""
    one, two = await make_room(pool, "one", 1), await make_room(pool, "two", 1)
    await give_task(pool, one)

    async def claim(host: JudgeHostId, worker: WorkerId) -> int:
        async with transaction(pool) as writing:
            return len(await remote_tasks.claim(writing, host, worker))

    assert await claim(two.host, one.worker) == 0
    assert [await claim(one.host, one.worker) for _ in range(2)] == [1, 0]


async def test_m5_a_result_that_waits_for_another_host_is_not_settled_again_and_again(
    pool: Pool,
) -> None:
    """M3: a result whose job the queue lost is listed, but not one that has to wait."""
    one, two = await make_room(pool, "one", 2), await make_room(pool, "two", 2)
    lost, waiting = await give_task(pool, one), await give_task(pool, one)
    async with transaction(pool) as writing:
        for task in (lost, waiting):
            await store_result(writing, task.judge_id, b"{}")
        moved = await remote_tasks.move_lease(
            writing, waiting.work, waiting.attempt, holder=one.worker, to=two.worker
        )
        assert moved
    async with transaction(pool) as reading:
        found = await remote_tasks.list_unsettled(reading, older_than_s=-60, limit=10)
    assert found == [lost.number]


async def test_m3_work_is_counted_that_keeps_other_work_from_a_host(pool: Pool) -> None:
    """M3: submissions of another language, and batch executions, but no typed input."""
    await make_room(pool, "one", 1)

    async def count(
        language: str, *excluded: JudgeHostId, executes: bool = False
    ) -> int | None:
        async with transaction(pool) as reading:
            return await remote_tasks.count_blocking(
                reading, language, executes=executes, excluded=excluded, ahead=0
            )

    assert await count("c") is None
    await make_execution(pool, io=ProgramIo.TERMINAL)
    assert await count("c") is None
    await make_submission(pool)
    assert await count("c") == 0
    assert await count("python3") is None
    assert await count("python3", executes=True) == 0
    for _ in range(2):
        await make_execution(pool, io=ProgramIo.BATCH)
    assert await count("python3") == 1
    assert await count("python3", executes=True) == 2
    two = await make_room(pool, "two", 1)
    async with transaction(pool) as writing:
        await judge_hosts.pause(writing, two.host, "test")
        await writing.execute("UPDATE worker SET draining_at = now() WHERE id = $1", two.worker)
    async with transaction(pool) as reading:
        one = await reading.fetchval("SELECT id FROM judge_host WHERE name = 'one'")
    assert await count("c", one) is None, "the other one is paused"


DAY_S = 24 * 3600
MAKE_OLD = """
UPDATE remote_task SET created_at = now() - make_interval(days => $2),
                       ended_at = now() - make_interval(days => $3)
 WHERE judge_id = $1"""


async def test_tasks_are_deleted_long_after_their_end(pool: Pool) -> None:
    """A task that never ended counts from when it was made."""
    room = await make_room(pool, "one", 9)
    ages: list[tuple[int, int | None]] = [(40, 31), (40, 29), (31, None), (29, None)]
    tasks = [await give_task(pool, room) for _ in ages]
    async with transaction(pool) as writing:
        for task, (made, ended) in zip(tasks, ages, strict=True):
            await writing.execute(MAKE_OLD, task.judge_id, made, ended)
        await remote_tasks.trim(writing, older_than_s=30 * DAY_S, limit=9)
        left = [await remote_tasks.get(writing, task.judge_id) is not None for task in tasks]
    assert left == [False, True, False, True]


async def test_no_more_tasks_are_deleted_at_once_than_asked_for(pool: Pool) -> None:
    room = await make_room(pool, "one", 9)
    tasks = [await give_task(pool, room) for _ in range(3)]
    async with transaction(pool) as writing:
        for task in tasks:
            await writing.execute(MAKE_OLD, task.judge_id, 40, 31)
        await remote_tasks.trim(writing, older_than_s=30 * DAY_S, limit=2)
        left = [await remote_tasks.get(writing, task.judge_id) is not None for task in tasks]
    assert left.count(True) == 1
