"""S5: stages wait while submissions keep a worker busy, but not for ever."""

import asyncio
import time
from itertools import chain, repeat

import pytest

from deemster.pipeline.work import delayed_stages
from deemster.pipeline.work.delayed_stages import DelayedStages


async def test_a_stage_waits_until_no_submission_has_followed_for_a_moment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(delayed_stages, "QUIET_S", 1.0)
    monkeypatch.setattr(delayed_stages, "LOOK_S", 0.01)
    # A slot is free for a moment between two submissions.
    looks = chain([True, True, False, True, True], repeat(False))
    seen: list[bool] = []

    def is_busy() -> bool:
        seen.append(next(looks))
        return seen[-1]

    await DelayedStages(is_busy).until_turn()
    assert seen[:5] == [True, True, False, True, True]
    assert not any(seen[5:])


async def test_under_permanent_load_a_stage_goes_on_after_a_while(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(delayed_stages, "SHORTEST_PAUSE_S", 0.1)
    await asyncio.wait_for(DelayedStages(lambda: True).until_turn(), timeout=60)


async def test_under_permanent_load_the_pause_grows_with_the_time_of_the_last_job(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(delayed_stages, "SHORTEST_PAUSE_S", 0.0)
    turns = DelayedStages(lambda: True)
    turns.pause_after(0.02)
    began_s = time.monotonic()
    await turns.until_turn()
    assert time.monotonic() - began_s >= 0.02 * delayed_stages.PAUSE_FACTOR * 0.9


async def test_without_load_no_stage_waits_for_its_turn() -> None:
    turns = DelayedStages(lambda: False)
    turns.pause_after(60)
    await asyncio.wait_for(turns.until_turn(), timeout=30)
