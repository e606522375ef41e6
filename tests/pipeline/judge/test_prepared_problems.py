"""Tests for the cache of prepared problems in prepared_problem.py."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import cast

import pytest

from deemster.domain.errors import Unavailable
from deemster.pipeline.judge.prepared_problem import PreparedProblem, PreparedProblems
from tests.waiting import PATIENCE_S


class FakeStore:
    """Opens problems by digest and counts how often."""

    def __init__(self) -> None:
        self.opened: Counter[str] = Counter()
        self.open_now: set[str] = set()
        self.may_open = asyncio.Event()
        self.may_open.set()

    @asynccontextmanager
    async def open(self, digest: str) -> AsyncIterator[PreparedProblem]:
        self.opened[digest] += 1
        await self.may_open.wait()
        if digest == "broken":
            raise Unavailable("The revision is gone.")
        self.open_now.add(digest)
        try:
            yield cast("PreparedProblem", digest)
        finally:
            self.open_now.remove(digest)


async def use(problems: PreparedProblems, digest: str) -> None:
    async with problems.prepared(digest) as prepared:
        assert cast("str", prepared) == digest


async def test_concurrent_callers_share_one_preparation() -> None:
    store = FakeStore()
    store.may_open.clear()
    async with asyncio.timeout(PATIENCE_S), PreparedProblems.open(store.open) as problems:
        async with asyncio.TaskGroup() as group:
            for _ in range(10):
                group.create_task(use(problems, "a"))
            await asyncio.sleep(0)
            store.may_open.set()
        await use(problems, "a")
        assert store.opened == {"a": 1}
    assert not store.open_now


async def test_the_least_recently_used_problem_is_evicted() -> None:
    store = FakeStore()
    async with asyncio.timeout(PATIENCE_S):
        async with PreparedProblems.open(store.open, max_prepared=2) as problems:
            for digest in ("a", "b", "a", "c"):
                await use(problems, digest)
            await use(problems, "a")
            await use(problems, "b")
        assert store.opened == {"a": 1, "b": 2, "c": 1}
    assert not store.open_now


async def test_a_problem_in_use_is_not_evicted() -> None:
    store = FakeStore()
    async with asyncio.timeout(PATIENCE_S):
        async with PreparedProblems.open(store.open, max_prepared=1) as problems:
            async with problems.prepared("a"):
                await use(problems, "b")
                await use(problems, "c")
                assert "a" in store.open_now
            await use(problems, "a")
    assert store.opened["a"] == 1


async def test_a_failed_preparation_is_raised_and_tried_again() -> None:
    store = FakeStore()
    async with asyncio.timeout(PATIENCE_S), PreparedProblems.open(store.open) as problems:
        for _ in range(2):
            with pytest.raises(Unavailable, match="gone"):
                await use(problems, "broken")
    assert store.opened == {"broken": 2}


async def test_a_cancelled_caller_does_not_cancel_the_preparation() -> None:
    store = FakeStore()
    store.may_open.clear()
    async with asyncio.timeout(PATIENCE_S), PreparedProblems.open(store.open) as problems:
        async with asyncio.TaskGroup() as group:
            cancelled = group.create_task(use(problems, "a"))
            group.create_task(use(problems, "a"))
            await asyncio.sleep(0)
            cancelled.cancel()
            await asyncio.sleep(0)
            store.may_open.set()
        assert store.opened == {"a": 1}
