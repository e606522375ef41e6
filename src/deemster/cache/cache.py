"""Answers as bytes, remembered here and in Redis; of many who ask, one looks (C1, C2)."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Final

import structlog

from deemster.cache.kinds import KINDS, Kind, Private, Public
from deemster.cache.memory import CacheEntry, MemoryCache, etag_of
from deemster.cache.redis import PATIENCE_S, Lent, RedisCache, connect
from deemster.cache.revisions import Revisions
from deemster.domain.account import Account
from deemster.metrics import CACHE

RETRY_S: Final = 1.0
"""An answer that could not be looked up anew is told for so long before the next try."""
OUTCOMES: Final = ("hit", "stale", "joined", "miss", "negative")
COUNTS: Final = {
    kind.name: {outcome: CACHE.labels(kind.name, outcome) for outcome in OUTCOMES}
    for kind in KINDS
}

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Found:
    body: bytes
    keep_s: float | None = None
    """Less than others of its kind; 0: not at all."""


Look = Callable[[], Awaitable[Found | None]]
"""None: there is no such thing."""


class Cache:
    def __init__(
        self,
        group: asyncio.TaskGroup,
        shared: RedisCache | None,
        *,
        clock: Callable[[], float] = time.monotonic,
        memory: MemoryCache | None = None,
    ) -> None:
        self._group = group
        self._shared = shared
        self._clock = clock
        self._memory = memory or MemoryCache()
        self._asking: dict[str, asyncio.Task[CacheEntry | Exception]] = {}
        self.revisions = Revisions()

    @classmethod
    @asynccontextmanager
    async def open(
        cls,
        url: str | None,
        env: str,
        *,
        clock: Callable[[], float] = time.monotonic,
        patience_s: float = PATIENCE_S,
    ) -> AsyncIterator["Cache"]:
        """Redis is not waited for: it may come later, or never."""
        redis = shared = None
        if url is not None:
            redis = connect(url, patience_s)
            shared = RedisCache(redis, env, clock=clock, patience_s=patience_s)
        try:
            async with asyncio.TaskGroup() as group:
                cache = cls(group, shared, clock=clock)
                try:
                    yield cache
                finally:
                    for each in [*cache._asking.values()]:
                        each.cancel()
        finally:
            if redis is not None:
                await redis.aclose()

    async def get(
        self, kind: Public, selector: str, look: Look, *, revision: int
    ) -> CacheEntry:
        """What is the same for all; whether this one may see it was looked at before."""
        return await self._get(kind, f"{kind.name}:{selector}#v{revision}", look)

    async def get_own(
        self, kind: Private, viewer: Account, selector: str, look: Look, *, subject: str
    ) -> CacheEntry:
        """What this account may see, in the role that it has, until the subject changes."""
        revision = self.revisions.of(subject)
        key = f"{kind.name}:{viewer.id}:{viewer.role}:{selector}#v{revision}"
        return await self._get(kind, key, look)

    async def _get(self, kind: Kind, key: str, look: Look) -> CacheEntry:
        now_s = self._clock()
        counts = COUNTS[kind.name]
        entry = self._memory.get(key, now_s)
        if entry is not None:
            if entry.fresh_until_s > now_s:
                counts["hit" if entry.body is not None else "negative"].inc()
            else:
                counts["stale"].inc()
                if key not in self._asking:
                    self._ask(kind, key, look, entry)
            return entry
        asking = self._asking.get(key)
        counts["joined" if asking else "miss"].inc()
        # Whoever goes away leaves the look to those who stay.
        told = await asyncio.shield(asking or self._ask(kind, key, look, None))
        if isinstance(told, Exception):
            raise told
        return told

    def _ask(
        self, kind: Kind, key: str, look: Look, stale: CacheEntry | None
    ) -> asyncio.Task[CacheEntry | Exception]:
        task = self._group.create_task(self._answer(kind, key, look, stale))
        self._asking[key] = task
        task.add_done_callback(lambda _: self._asking.pop(key, None))
        return task

    async def _answer(
        self, kind: Kind, key: str, look: Look, stale: CacheEntry | None
    ) -> CacheEntry | Exception:
        """A fault is an answer too: it goes to those who asked, and ends nobody else's task."""
        try:
            if isinstance(kind, Public) and (lent := await self._borrow(kind, key)) is not None:
                entry = self._entry(kind, Found(lent.body), age_s=lent.age_s)
                if stale is None or entry.fresh_until_s > self._clock():
                    self._memory.put(key, entry)
                    return entry
            found = await look()
        except Exception as fault:  # noqa: BLE001 - see above
            if stale is not None:
                log.warning("cache.refresh_failed", kind=kind.name, error=repr(fault))
                self._memory.put(key, replace(stale, fresh_until_s=self._clock() + RETRY_S))
            return fault
        entry = self._entry(kind, found)
        if entry.kept_until_s > self._clock():
            self._memory.put(key, entry)
            if isinstance(kind, Public) and self._shared is not None and found is not None:
                self._group.create_task(self._shared.put(kind, key, found.body))
        return entry

    async def _borrow(self, kind: Public, key: str) -> Lent | None:
        return await self._shared.get(kind, key) if self._shared is not None else None

    def _entry(self, kind: Kind, found: Found | None, *, age_s: float = 0.0) -> CacheEntry:
        now_s = self._clock()
        if found is None:
            return CacheEntry(None, "", now_s + kind.absent_s, now_s + kind.absent_s)
        fresh_s = kind.fresh_s if found.keep_s is None else found.keep_s
        kept_s = kind.kept_s if found.keep_s is None else found.keep_s
        made_s = now_s - age_s
        return CacheEntry(found.body, etag_of(found.body), made_s + fresh_s, made_s + kept_s)
