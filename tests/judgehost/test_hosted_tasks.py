"""M2: a judge host has more tasks than slots, and runs as many as it has slots."""

from deemster.domain.execution import ExecutionLimits, ExecutionOptions
from deemster.domain.judge_host import CHECKS_AHEAD
from deemster.judgehost.hosted_tasks import HostedTask, HostedTasks, SlotKind, TaskAdmission
from deemster.pipeline.remote.messages import ExecutePart, HostTask, JudgePart, TaskKind


def task(number: int, kind: TaskKind = TaskKind.JUDGE) -> HostTask:
    is_judged = kind is TaskKind.JUDGE
    execute = ExecutePart(
        stdin=b"", args=[], limits=ExecutionLimits(), options=ExecutionOptions()
    )
    return HostTask(
        judge_id=f"jdg_{number}",
        work=f"sub_{number}",
        kind=kind,
        attempt=1,
        language="python3",
        main="main.py",
        files=b"",
        deadline_s=10,
        judge=JudgePart(time_ms=1000, time_factor=1, cases=1) if is_judged else None,
        execute=None if is_judged else execute,
        data=None,
    )


async def test_m2_a_full_host_refuses_pushed_tasks_and_keeps_fetched_ones() -> None:
    tasks = HostedTasks(slots=2, execution_slots=1)
    most = 2 + CHECKS_AHEAD
    admitted = [tasks.admit(task(number), is_fetched=False) for number in range(most)]
    assert all(isinstance(each, HostedTask) for each in admitted)
    assert tasks.busy == 2
    assert tasks.free(SlotKind.JUDGING) == 0
    assert tasks.admit(task(most), is_fetched=False) is TaskAdmission.FULL
    fetched = tasks.admit(task(most), is_fetched=True)
    assert isinstance(fetched, HostedTask)
    assert tasks.admit(task(most), is_fetched=True) is TaskAdmission.KNOWN
    tasks.release(fetched)
    assert tasks.free(SlotKind.JUDGING) == 0


async def test_m2_as_many_tasks_run_as_there_are_slots() -> None:
    tasks = HostedTasks(slots=1, execution_slots=1)
    first, second = (tasks.admit(task(number), is_fetched=True) for number in range(2))
    assert isinstance(first, HostedTask)
    assert isinstance(second, HostedTask)
    async with tasks.slot(first):
        assert tasks.slot(second).locked()
        execution = tasks.admit(task(2, TaskKind.EXECUTE), is_fetched=False)
        assert isinstance(execution, HostedTask)
        assert not tasks.slot(execution).locked()
    assert not tasks.slot(second).locked()
