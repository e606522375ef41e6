"""Wakes an idle consumer when there may be a job for it."""

import asyncio


class WakeSignal:
    def __init__(self) -> None:
        self._set = asyncio.Event()
        self.wanted = asyncio.Event()
        """Set while somebody waits: Redis wakes one consumer only, and it must be idle."""

    def wake(self) -> None:
        self.wanted.clear()
        self._set.set()

    def clear(self) -> None:
        """Must be called before looking for work, so that a wake-up during the look is kept."""
        self._set.clear()

    async def wait(self, timeout_s: float) -> None:
        self.wanted.set()
        try:
            async with asyncio.timeout(timeout_s):
                await self._set.wait()
        except TimeoutError:
            pass
        finally:
            self.wanted.clear()
