"""The workers that live, looked up once a second; what is done when there are none (Q15)."""

from collections.abc import Sequence
from typing import Final

from deemster.api.dependencies import Dependencies
from deemster.api.http.errors import NoWorkers
from deemster.cache.single_flight import SingleFlightCache
from deemster.store import workers
from deemster.store.pool import connection
from deemster.store.workers import WorkerView

KEPT_S: Final = 1.0
WARNING: Final = '199 deemster "No worker takes work: this waits until one does."'


class LiveWorkers:
    def __init__(self, dependencies: Dependencies) -> None:
        self._dependencies = dependencies
        self._known: SingleFlightCache[None, Sequence[WorkerView]] = SingleFlightCache(
            self._look, keep_s=KEPT_S
        )

    async def working(self) -> Sequence[WorkerView]:
        """Those that take work."""
        return await self._known.get(None)

    async def warning(self) -> str | None:
        """To go with the answer to a submission; or the refusal, if that is the setting."""
        if await self.working():
            return None
        if self._dependencies.settings.without_workers == "accept":
            return WARNING
        raise NoWorkers("No worker takes work, so nobody would judge this: try again later.")

    async def _look(self, _: None) -> Sequence[WorkerView]:
        async with connection(self._dependencies.pool) as acquired:
            return [each for each in await workers.list_alive(acquired) if not each.draining]
