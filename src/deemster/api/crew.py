"""The workers that live, looked up once a second; what is done when there are none (Q15)."""

from collections.abc import Sequence
from typing import Final

from deemster.api.faults import NoWorkers
from deemster.api.service import Service
from deemster.cache.moment import Moment
from deemster.domain.ids import AccountId
from deemster.store import workers
from deemster.store.arrivals import is_key_taken
from deemster.store.pool import connection
from deemster.store.workers import WorkerView

KEPT_S: Final = 1.0
WARNING: Final = '199 deemster "No worker lives: this waits until one does."'


class Crew:
    def __init__(self, service: Service) -> None:
        self._service = service
        self._known: Moment[None, Sequence[WorkerView]] = Moment(self._look, keep_s=KEPT_S)

    async def working(self) -> Sequence[WorkerView]:
        """Those that take work."""
        return await self._known.get(None)

    async def admit(self, account: AccountId, key: str | None) -> str | None:
        """A warning to go with the answer; or the refusal, if that is the setting."""
        if await self.working():
            return None
        if self._service.settings.without_workers == "accept":
            return WARNING
        # What was accepted before is answered as before, whoever works now (I1).
        if key is None or not await self._is_taken(account, key):
            raise NoWorkers("No worker lives, so nobody would judge this: try again later.")
        return None

    async def _is_taken(self, account: AccountId, key: str) -> bool:
        async with connection(self._service.pool) as acquired:
            return await is_key_taken(acquired, account, key)

    async def _look(self, _: None) -> Sequence[WorkerView]:
        async with connection(self._service.pool) as acquired:
            return [each for each in await workers.alive(acquired) if not each.draining]
