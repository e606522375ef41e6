"""The keeper's duties do not depend on each other."""

import asyncio

import pytest

from deemster.domain.errors import Unavailable
from deemster.pipeline.verdict.cancel import cancel
from deemster.store.pool import Pool
from deemster.wiring import keeper
from deemster.wiring.keeper import AfterJudging, repeat
from tests.builders import make_submission
from tests.waiting import PATIENCE_S


@pytest.mark.parametrize("fault", [Unavailable("away"), RuntimeError("a fault of ours")])
async def test_a_duty_that_fails_is_repeated(
    monkeypatch: pytest.MonkeyPatch, fault: Exception
) -> None:
    """Q6: and it stops no other duty, such as the watchdog."""
    monkeypatch.setattr(keeper, "RECOVERY_S", 0.0)
    done = asyncio.Event()
    tries = 0

    async def work() -> int:
        nonlocal tries
        tries += 1
        if tries == 1:
            raise fault
        done.set()
        return 0

    async with asyncio.timeout(PATIENCE_S), asyncio.TaskGroup() as group:
        duty = group.create_task(repeat(work, 0.0))
        await done.wait()
        duty.cancel()


async def test_what_is_not_urgent_waits_for_the_queue_but_not_for_ever(pool: Pool) -> None:
    """P6: the comparison of programs needs the same cores as judging."""
    done = 0

    async def duty() -> int:
        nonlocal done
        done += 1
        return 1

    submission = await make_submission(pool)
    assert await AfterJudging(pool, duty).run() == 0
    assert done == 0
    assert await AfterJudging(pool, duty, longest_put_off_s=0.0).run() == 1
    await cancel(pool, submission)
    assert await AfterJudging(pool, duty).run() == 1
    assert done == 2
