"""Wakes whoever found no work; a ring that comes before the wait is not lost."""

import asyncio


class WakeSignal:
    def __init__(self) -> None:
        self._rung = asyncio.Event()
        self.wanted = asyncio.Event()
        """Somebody waits. A store that wakes only one must not wake us when nobody does."""

    def ring(self) -> None:
        self.wanted.clear()
        self._rung.set()

    def hush(self) -> None:
        """To be called before looking for work."""
        self._rung.clear()

    async def wait(self, timeout_s: float) -> None:
        self.wanted.set()
        try:
            async with asyncio.timeout(timeout_s):
                await self._rung.wait()
        except TimeoutError:
            pass
        finally:
            self.wanted.clear()
