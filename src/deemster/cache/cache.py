"""Caches response bodies in this process and in Redis; one caller loads each (C1, C2)."""

import asyncio
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Final

import structlog
from cachetools import TLRUCache

from deemster.cache.kinds import KINDS, Kind, Private, Public
from deemster.cache.redis import TIMEOUT_S, RedisCache, SharedValue, connect
from deemster.domain.account import Account
from deemster.metrics import CACHE

MAX_BYTES: Final = 64 << 20
ENTRY_BYTES: Final = 700
"""What an entry takes besides its body: its key and the objects around it."""
RETRY_S: Final = 1.0
"""If a refresh fails, the old entry counts as fresh for this time."""
OUTCOMES: Final = ("hit", "stale", "joined", "miss", "negative")
COUNTS: Final = {
    kind.name: {outcome: CACHE.labels(kind.name, outcome) for outcome in OUTCOMES}
    for kind in KINDS
}

log = structlog.get_logger()


MAX_SUBJECTS: Final = 50_000


class KeyVersions:
    """A subject's version never goes back, even after the subject was dropped from memory."""

    def __init__(self, max_subjects: int = MAX_SUBJECTS) -> None:
        self._max_subjects = max_subjects
        self._versions: OrderedDict[str, int] = OrderedDict()
        self._last = 0
        self._default = 0
        """Version of subjects that are not in memory: the highest that was ever dropped."""

    def of(self, subject: str) -> int:
        return self._versions.get(subject, self._default)

    def bump(self, subject: str) -> None:
        self._last += 1
        self._versions[subject] = self._last
        self._versions.move_to_end(subject)
        if len(self._versions) > self._max_subjects:
            _, dropped = self._versions.popitem(last=False)
            self._default = max(self._default, dropped)

    def bump_all(self) -> None:
        self._versions.clear()
        self._last += 1
        self._default = self._last


@dataclass(frozen=True, slots=True)
class CacheEntry:
    body: bytes | None
    """None: there is no value."""
    etag: str
    fresh_until_s: float
    kept_until_s: float

    @property
    def size_bytes(self) -> int:
        return len(self.body or b"") + ENTRY_BYTES


@dataclass(frozen=True, slots=True)
class Loaded:
    body: bytes
    keep_s: float | None = None
    """Replaces the times of its kind; 0: the value is not cached."""


Loader = Callable[[], Awaitable[Loaded | None]]
"""Returns None if there is no value."""


class Cache:
    def __init__(
        self,
        group: asyncio.TaskGroup,
        shared: RedisCache | None,
        *,
        clock: Callable[[], float] = time.monotonic,
        max_bytes: int = MAX_BYTES,
    ) -> None:
        self._group = group
        self._shared = shared
        self._clock = clock
        self.memory: TLRUCache[str, CacheEntry, float] = TLRUCache(
            max_bytes, lambda _, entry, __: entry.kept_until_s, clock, lambda e: e.size_bytes
        )
        self._loading: dict[str, asyncio.Task[CacheEntry | Exception]] = {}
        self.versions = KeyVersions()

    @classmethod
    @asynccontextmanager
    async def open(
        cls,
        url: str | None,
        env: str,
        *,
        clock: Callable[[], float] = time.monotonic,
        timeout_s: float = TIMEOUT_S,
    ) -> AsyncIterator["Cache"]:
        """Connects to Redis when it is first used, so Redis may start later, or never."""
        redis = shared = None
        if url is not None:
            redis = connect(url, timeout_s)
            shared = RedisCache(redis, env, clock=clock, timeout_s=timeout_s)
        try:
            async with asyncio.TaskGroup() as group:
                cache = cls(group, shared, clock=clock)
                try:
                    yield cache
                finally:
                    for task in [*cache._loading.values()]:
                        task.cancel()
        finally:
            if redis is not None:
                await redis.aclose()

    async def get(
        self, kind: Public, selector: str, load: Loader, *, version: int
    ) -> CacheEntry:
        """Returns what is the same for every caller; access must have been checked before."""
        return await self._get(kind, f"{kind.name}:{selector}#v{version}", load)

    async def get_private(
        self, kind: Private, viewer: Account, selector: str, load: Loader, *, subject: str
    ) -> CacheEntry:
        """Returns what this account may see in its role, until the subject changes."""
        version = self.versions.of(subject)
        key = f"{kind.name}:{viewer.id}:{viewer.role}:{selector}#v{version}"
        return await self._get(kind, key, load)

    async def _get(self, kind: Kind, key: str, load: Loader) -> CacheEntry:
        counts = COUNTS[kind.name]
        try:
            entry = self.memory[key]
        except KeyError:
            pass
        else:
            if entry.fresh_until_s > self._clock():
                counts["hit" if entry.body is not None else "negative"].inc()
            else:
                counts["stale"].inc()
                if key not in self._loading:
                    self._start_loading(kind, key, load, entry)
            return entry
        loading = self._loading.get(key)
        counts["joined" if loading else "miss"].inc()
        # Not SingleFlight: loading goes on even if the caller that started it is cancelled.
        result = await asyncio.shield(loading or self._start_loading(kind, key, load, None))
        if isinstance(result, Exception):
            raise result
        return result

    def _start_loading(
        self, kind: Kind, key: str, load: Loader, stale: CacheEntry | None
    ) -> asyncio.Task[CacheEntry | Exception]:
        task = self._group.create_task(self._load(kind, key, load, stale))
        self._loading[key] = task
        task.add_done_callback(lambda _: self._loading.pop(key, None))
        return task

    async def _load(
        self, kind: Kind, key: str, load: Loader, stale: CacheEntry | None
    ) -> CacheEntry | Exception:
        """Returns an error instead of raising it: raising would cancel the task group."""
        try:
            if (shared := await self._load_shared(kind, key)) is not None:
                entry = self._entry(kind, Loaded(shared.body), age_s=shared.age_s)
                if stale is None or entry.fresh_until_s > self._clock():
                    self._put(key, entry)
                    return entry
            loaded = await load()
        except Exception as fault:  # noqa: BLE001 - see above
            if stale is not None:
                log.warning("cache.refresh_failed", kind=kind.name, error=repr(fault))
                self._put(key, replace(stale, fresh_until_s=self._clock() + RETRY_S))
            return fault
        entry = self._entry(kind, loaded)
        if entry.kept_until_s > self._clock():
            self._put(key, entry)
            if isinstance(kind, Public) and self._shared is not None and loaded is not None:
                self._group.create_task(self._shared.put(kind, key, loaded.body))
        return entry

    async def _load_shared(self, kind: Kind, key: str) -> SharedValue | None:
        if self._shared is None or not isinstance(kind, Public):
            return None
        return await self._shared.get(kind, key)

    def _put(self, key: str, entry: CacheEntry) -> None:
        if entry.size_bytes <= self.memory.maxsize:
            self.memory[key] = entry

    def _entry(self, kind: Kind, loaded: Loaded | None, *, age_s: float = 0.0) -> CacheEntry:
        now_s = self._clock()
        if loaded is None:
            return CacheEntry(None, "", now_s + kind.absent_s, now_s + kind.absent_s)
        fresh_s = kind.fresh_s if loaded.keep_s is None else loaded.keep_s
        kept_s = kind.kept_s if loaded.keep_s is None else loaded.keep_s
        made_s = now_s - age_s
        etag = etag_of(loaded.body)
        return CacheEntry(loaded.body, etag, made_s + fresh_s, made_s + kept_s)


def etag_of(body: bytes) -> str:
    return f'"{blake2b(body, digest_size=12).hexdigest()}"'
