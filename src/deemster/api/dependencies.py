"""The services that the API gets from outside: `wiring` opens and closes them. `app_state.py`
has the objects that the API makes from them."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from deemster.cache.cache import Cache
from deemster.domain.job import QueueName
from deemster.domain.language import Catalogue
from deemster.domain.queue_depth import JobState, QueueDepth
from deemster.limits.rate_limiter import RateLimiter
from deemster.pipeline.accept.executions import ExecutionAccept
from deemster.pipeline.accept.submissions import AcceptService
from deemster.problems.importing import Importer
from deemster.settings import Settings
from deemster.store.artifacts import Artifacts
from deemster.store.pool import Pool


class Queues(Protocol):
    """The queue store; raises `Unavailable` if it does not answer."""

    async def depths(self) -> Mapping[QueueName, QueueDepth]: ...
    async def job_ids(
        self, queue: QueueName, state: JobState, *, start: int, most: int
    ) -> Sequence[str]: ...


@dataclass(frozen=True, slots=True)
class Dependencies:
    pool: Pool
    accept: AcceptService
    accept_executions: ExecutionAccept
    artifacts: Artifacts
    catalogue: Catalogue
    settings: Settings
    secret: bytes
    """Secret of this installation, from which keys are derived."""
    rate_limiter: RateLimiter
    """Rate limits, shared by all API processes if Redis is configured."""
    cache: Cache
    ping_queue: Callable[[], Awaitable[None]]
    """Raises `Unavailable` if the queue store does not answer."""
    queues: Queues
    importer: Importer
    async_commit_pool: Pool
    """For commits that need not wait for the disk: a crash of the database may undo them."""
    wait_for_events: Callable[[float], Awaitable[object]] = asyncio.sleep
    """Returns when another process has committed events, or after so many seconds."""
    wait_for_output: Callable[[float], Awaitable[object]] = asyncio.sleep
    """Returns the ids of executions with new output, or nothing after so many seconds."""
    wait_for_host_tasks: Callable[[float], Awaitable[object]] = asyncio.sleep
    """Returns the ids of judge hosts that have tasks to fetch, or nothing."""
