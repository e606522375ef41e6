"""Whether each part that the service needs answers, in words that tell no secret (O3)."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

import structlog

from deemster.api.dependencies import Dependencies
from deemster.api.models.kinds import ResponseModel
from deemster.cache.single_flight import SingleFlightCache
from deemster.domain.errors import DeemsterError
from deemster.store import workers
from deemster.store.pool import connection, ping

PATIENCE_S: Final = 2.0
KEPT_S: Final = 0.5
"""So that asking often costs nobody anything."""

log = structlog.get_logger()


class PartOut(ResponseModel):
    ok: bool
    detail: str


class HealthOut(ResponseModel):
    ready: bool
    database: PartOut
    queue: PartOut
    workers: PartOut
    artifacts: PartOut


class NobodyWorks(DeemsterError):
    """No worker lives."""


class Health:
    def __init__(self, dependencies: Dependencies) -> None:
        self._dependencies = dependencies
        self._known: SingleFlightCache[None, HealthOut] = SingleFlightCache(
            self._look, keep_s=KEPT_S
        )

    async def report(self) -> HealthOut:
        return await self._known.get(None)

    async def _look(self, _: None) -> HealthOut:
        dependencies = self._dependencies
        async with asyncio.TaskGroup() as group:
            database = group.create_task(part("database", lambda: ping(dependencies.pool)))
            queue = group.create_task(part("queue", dependencies.ping_queue))
            live_workers = group.create_task(part("workers", self._count_workers))
            artifacts = group.create_task(part("artifacts", dependencies.artifacts.ping))
        parts = [task.result() for task in (database, queue, live_workers, artifacts)]
        return HealthOut(
            ready=all(each.ok for each in parts),
            database=parts[0],
            queue=parts[1],
            workers=parts[2],
            artifacts=parts[3],
        )

    async def _count_workers(self) -> str:
        async with connection(self._dependencies.pool) as acquired:
            found = [each for each in await workers.list_alive(acquired) if not each.draining]
        if not found:
            raise NobodyWorks
        return f"{len(found)} with {sum(each.slots for each in found)} slots"


async def part(name: str, check: Callable[[], Awaitable[object]]) -> PartOut:
    """The fault itself goes to the log: it may name hosts and paths."""
    try:
        async with asyncio.timeout(PATIENCE_S):
            said = await check()
    except NobodyWorks:
        return PartOut(ok=False, detail="no worker lives")
    except TimeoutError:
        return PartOut(ok=False, detail=f"no answer within {PATIENCE_S:g} s")
    except DeemsterError as fault:
        log.warning("health.part_down", part=name, error=str(fault))
        return PartOut(ok=False, detail="does not answer as it should; the log says more")
    return PartOut(ok=True, detail=said if isinstance(said, str) else "answers")
