"""Tests for test_data.py: downloads, room in memory, and the cache (M1)."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from deemster.domain.errors import Unavailable
from deemster.domain.limits import MIB
from deemster.judgehost import test_data
from deemster.judgehost.encrypted_cache import EncryptedCache
from deemster.judgehost.test_data import HostRevisions
from deemster.pipeline.remote.messages import ProblemData  # pytest would collect it
from deemster.problems.distribution import pack
from deemster.problems.revision import RevisionStore
from tests.system.programs import PACKAGE


class Downloads:
    """Packed problems by path, and how often each was fetched."""

    def __init__(self) -> None:
        self.tars: dict[str, bytes] = {}
        self.fetched: list[str] = []

    async def __call__(self, path: str, target: Path, max_bytes: int) -> None:
        self.fetched.append(path)
        await asyncio.to_thread(target.write_bytes, self.tars[path])


@asynccontextmanager
async def opened_host(
    directory: Path, *names: str, is_tight: bool = False
) -> AsyncIterator[tuple[HostRevisions, Downloads, list[str]]]:
    """A host that knows the samples with these names, and their digests.

    A tight memory has room for one problem.
    """
    downloads, digests = Downloads(), []
    store = RevisionStore(directory / "server", 1 << 30)
    for name in names:
        revision = await store.import_package(PACKAGE.parent / name)
        digests.append(revision.digest)
        downloads.tars[name] = pack_to(revision.directory, directory / f"{name}.tar")
    largest = max(map(len, downloads.tars.values()))
    memory = directory / "memory"
    memory.mkdir()
    with EncryptedCache.open(directory / "cache", 100 * MIB) as cache:
        memory_bytes = 3 * largest // 2 + 2 if is_tight else 100 * MIB
        host = HostRevisions(memory, memory_bytes, cache, downloads)
        for name, digest in zip(names, digests, strict=True):
            host.offer(ProblemData(digest=digest, path=name))
        yield host, downloads, digests


def pack_to(directory: Path, tar: Path) -> bytes:
    pack(directory, tar)
    return tar.read_bytes()


async def test_tasks_that_need_the_same_data_share_one_download(tmp_path: Path) -> None:
    async with opened_host(tmp_path, "aplusb") as (host, downloads, (digest,)):

        async def use() -> str:
            async with host.opened(digest) as revision:
                return revision.digest

        async with asyncio.TaskGroup() as group:
            users = [group.create_task(use()) for _ in range(5)]
        assert len({each.result() for each in users}) == 1
        assert downloads.fetched == ["aplusb"]
        assert await host.digests() == [digest]


async def test_data_that_left_the_memory_come_from_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While a problem is used that takes all of the memory, another has to wait."""
    monkeypatch.setattr(test_data, "ROOM_S", 0.2)
    opening = opened_host(tmp_path, "aplusb", "fence", is_tight=True)
    async with opening as (host, downloads, (first, second)):
        async with host.opened(first):
            with pytest.raises(Unavailable, match="DEEMSTER_JUDGEHOST_MEMORY_MB"):
                async with host.opened(second):
                    pass
        for digest in (second, first):
            async with host.opened(digest):
                pass
        assert downloads.fetched.count("aplusb") == 1
        assert set(await host.digests()) == {first, second}
