"""What the API works with; `wiring` opens it and closes it."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from deemster.cache.buckets import Buckets
from deemster.domain.language import Catalogue
from deemster.pipeline.accept.door import Door
from deemster.settings import Settings
from deemster.store.artifacts import Artifacts
from deemster.store.pool import Pool


@dataclass(frozen=True, slots=True)
class Service:
    pool: Pool
    door: Door
    artifacts: Artifacts
    catalogue: Catalogue
    settings: Settings
    secret: bytes
    """Of this installation: keys are made from it."""
    buckets: Buckets
    """Shared with other API processes, where there are any."""
    ping_queue: Callable[[], Awaitable[None]]
    """Raises `Unavailable` when the queue does not answer."""
