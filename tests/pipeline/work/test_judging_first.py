"""S5: stages wait while submissions keep a worker busy, but not for ever."""

import asyncio
from itertools import chain, repeat

import pytest

from deemster.pipeline.work import judging_first
from deemster.pipeline.work.judging_first import until_quiet


async def test_a_stage_waits_until_no_submission_has_followed_for_a_moment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(judging_first, "QUIET_S", 1.0)
    monkeypatch.setattr(judging_first, "LOOK_S", 0.01)
    # A slot is free for a moment between two submissions.
    looks = chain([True, True, False, True, True], repeat(False))
    seen: list[bool] = []

    def is_busy() -> bool:
        seen.append(next(looks))
        return seen[-1]

    await until_quiet(is_busy)
    assert seen[:5] == [True, True, False, True, True]
    assert not any(seen[5:])


async def test_under_permanent_load_a_stage_goes_on_after_a_while(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(judging_first, "LONGEST_WAIT_S", 0.1)
    await asyncio.wait_for(until_quiet(lambda: True), timeout=60)
