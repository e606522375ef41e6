"""The keeper's duties do not depend on each other."""

import asyncio

import pytest

from deemster.domain.errors import Unavailable
from deemster.wiring import keeper
from deemster.wiring.keeper import repeat
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
