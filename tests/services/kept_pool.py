"""Keeps a pool open from one test to the next.

A new connection costs the server more than the statements of most tests: it reads the
definitions of all tables that it meets, and parses each statement anew.
"""

from contextlib import AsyncExitStack

from deemster.store.pool import Pool, open_pool

MAX_CONNECTIONS = 20


class KeptPool:
    """Tests that follow each other mostly get the same database: one pool is enough."""

    def __init__(self) -> None:
        self._stack = AsyncExitStack()
        self._url: str | None = None
        self._pool: Pool | None = None

    async def lend(self, url: str) -> Pool:
        if self._pool is None or self._url != url or self._pool.is_closing():
            await self.close()
            opening = open_pool(url, name="test", max_size=MAX_CONNECTIONS)
            self._pool = await self._stack.enter_async_context(opening)
            for holder in self._pool._holders:  # type: ignore[attr-defined]
                # None is closed while a test counts its own open files.
                holder._max_inactive_time = 0
            self._url = url
        return self._pool

    async def give_back(self) -> None:
        """The next test gets connections that nobody uses."""
        if self._pool is not None and self._pool.get_idle_size() != self._pool.get_size():
            self._pool.terminate()

    async def close(self) -> None:
        await self._stack.aclose()
        self._pool = None
