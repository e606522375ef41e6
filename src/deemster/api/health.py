"""Checks whether database, queue store, workers and artifact store answer (O3)."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

import structlog

from deemster.api.dependencies import Dependencies
from deemster.api.models.health import HealthOut, PartOut
from deemster.cache.single_flight import SingleFlightCache
from deemster.domain.errors import DeemsterError
from deemster.store import workers
from deemster.store.pool import connection, ping

TIMEOUT_S: Final = 2.0
KEPT_S: Final = 0.5
"""Frequent requests share one check."""

log = structlog.get_logger()


class NoLiveWorker(DeemsterError):
    pass


class Health:
    def __init__(self, dependencies: Dependencies) -> None:
        self._dependencies = dependencies
        self._report: SingleFlightCache[None, HealthOut] = SingleFlightCache(
            self._check_all, keep_s=KEPT_S
        )

    async def report(self) -> HealthOut:
        return await self._report.get(None)

    async def _check_all(self, _: None) -> HealthOut:
        dependencies = self._dependencies
        async with asyncio.TaskGroup() as group:
            database = group.create_task(
                check_part("database", lambda: ping(dependencies.pool))
            )
            queue = group.create_task(check_part("queue", dependencies.ping_queue))
            live_workers = group.create_task(check_part("workers", self._count_workers))
            artifacts = group.create_task(check_part("artifacts", dependencies.artifacts.ping))
        parts = [task.result() for task in (database, queue, live_workers, artifacts)]
        # Without workers this process still accepts submissions and shows results, so a load
        # balancer must not take it out of service.
        needed = [each for each in parts if each is not parts[2]]
        return HealthOut(
            ready=all(each.ok for each in needed),
            database=parts[0],
            queue=parts[1],
            workers=parts[2],
            artifacts=parts[3],
        )

    async def _count_workers(self) -> str:
        async with connection(self._dependencies.pool) as acquired:
            alive = await workers.list_alive(acquired)
        found = [each for each in alive if not each.draining]
        if not found:
            drained = f"; {len(alive)} drained" if alive else ""
            raise NoLiveWorker(f"no worker takes jobs{drained}")
        return f"{len(found)} with {sum(each.slots for each in found)} slots"


async def check_part(name: str, check: Callable[[], Awaitable[object]]) -> PartOut:
    """Only the log gets the error itself, which may name hosts and paths."""
    try:
        async with asyncio.timeout(TIMEOUT_S):
            detail = await check()
    except NoLiveWorker as fault:
        return PartOut(ok=False, detail=str(fault))
    except TimeoutError:
        return PartOut(ok=False, detail=f"no answer within {TIMEOUT_S:g} s")
    except DeemsterError as fault:
        log.warning("health.part_down", part=name, error=str(fault))
        return PartOut(ok=False, detail="failed; the log has details")
    return PartOut(ok=True, detail=detail if isinstance(detail, str) else "answers")
