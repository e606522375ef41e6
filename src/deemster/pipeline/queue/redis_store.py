"""BullMQ on Redis or Valkey, with a client whose every wait is bounded."""

from collections.abc import Collection, Sequence
from typing import Any, Final, cast

from bullmq.backends import RedisBackend
from bullmq.redis_connection import RedisConnection
from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.driver_info import DriverInfo
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import RedisError

from deemster.domain.errors import Refused
from deemster.domain.job import QueueName
from deemster.pipeline.queue.engine import LockedJob, WakeSignal
from deemster.pipeline.queue.topology import redis_prefix, without_secrets

CONNECT_S: Final = 3.0
ANSWER_S: Final = 5.0
BLOCK_S: Final = 2.0
"""Well below ANSWER_S, after which a silent connection counts as dead."""
DRIVER: Final = DriverInfo()
"""Made once: without it, each connection looks for redis-py's version in its metadata."""


class RedisStore:
    faults = (RedisError,)
    trims_by_count = True
    smallest_bulk = 2

    def __init__(self, url: str, env: str, name: str) -> None:
        self.shown = without_secrets(url)
        self._client = client_of(url, name)
        connection = RedisConnection(self._client)
        prefix = redis_prefix(env)
        self._backends = {
            queue: RedisBackend(queue, connection, prefix=prefix, owns_connection=False)
            for queue in QueueName
        }

    async def ready(self) -> None:
        """Redis needs no preparation."""

    def backend(self, queue: QueueName) -> Any:
        return self._backends[queue]

    async def ping(self) -> None:
        await cast("Any", self._client.ping())

    async def present(self, queue: QueueName, ids: Sequence[str]) -> set[str]:
        """Reads all states in one transaction, so that a job that moves is not missed."""
        if not ids:
            return set()
        backend = self._backends[queue]
        async with self._client.pipeline(transaction=True) as pipe:
            for state in ("prioritized", "delayed"):
                pipe.zmscore(backend.toKey(state), list(ids))
            for state in ("wait", "paused", "active"):
                pipe.lrange(backend.toKey(state), 0, -1)
            prioritized, delayed, wait, paused, active = await pipe.execute()
        found = {*wait, *paused, *active}.intersection(ids)
        for scores in (prioritized, delayed):
            found |= {
                each for each, score in zip(ids, scores, strict=True) if score is not None
            }
        return found

    async def return_job(self, locked: LockedJob) -> None:
        """Ids of jobs grow with the time of submission. Those that went back are before the
        others of their priority, in the order of their ids.
        """
        backend = self._backends[locked.queue]
        await backend.retryJob(locked.id, True, locked.token, {})
        if locked.priority:
            await backend.changePriority(locked.id, locked.priority, True)

    async def listen(self, queues: Collection[QueueName], wake_signal: WakeSignal) -> None:
        """BullMQ adds a marker to wake one worker, and that worker removes it."""
        markers = [self._backends[queue].toKey("marker") for queue in queues]
        while True:
            await wake_signal.wanted.wait()
            popped = await cast("Any", self._client.bzpopmin(markers, BLOCK_S))
            if popped is None:
                continue
            if wake_signal.wanted.is_set():
                wake_signal.wake()
            else:  # this consumer is busy by now: the marker shall wake another
                marker, member, score = popped
                await self._client.zadd(marker, {member: score})

    async def close(self) -> None:
        await self._client.aclose()


def client_of(url: str, name: str) -> Redis:
    # The one retry is for connections that the server closed while they were idle.
    retry = Retry(NoBackoff(), 1, supported_errors=(RedisConnectionError,))
    try:
        client = Redis.from_url(
            url,
            decode_responses=True,
            encoding_errors="replace",  # a foreign job must not stop the others
            protocol=2,  # BullMQ's scripts expect it
            client_name=name,
            driver_info=DRIVER,
            socket_connect_timeout=CONNECT_S,
            socket_timeout=ANSWER_S,
            retry=retry,
        )
        client.connection_pool.make_connection()  # type: ignore[no-untyped-call]
    except (TypeError, ValueError) as fault:
        shown = without_secrets(url)
        raise Refused(f"The queue URL {shown} is not understood: {fault}") from None
    return client
