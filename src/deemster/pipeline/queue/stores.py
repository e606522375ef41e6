"""Opens the queue store that a URL names: Postgres or Redis."""

from typing import Final
from urllib.parse import urlsplit

from deemster.domain.errors import Refused
from deemster.pipeline.queue.engine import Engine, QueueStore
from deemster.pipeline.queue.postgres_store import PostgresStore
from deemster.pipeline.queue.redis_store import RedisStore
from deemster.pipeline.queue.topology import without_secrets

POSTGRES: Final = ("postgresql", "postgres")
REDIS: Final = ("redis", "rediss", "unix")


def open_engine(url: str, env: str, name: str) -> Engine:
    """Connects on first use, so it succeeds while the store is down."""
    scheme = urlsplit(url).scheme
    store: QueueStore
    if scheme in POSTGRES:
        store = PostgresStore(url, env, name)
    elif scheme in REDIS:
        store = RedisStore(url, env, name)
    else:
        raise Refused(
            f"The queue store {without_secrets(url)} has an unknown scheme: use postgresql://, "
            "redis:// or rediss://."
        )
    return Engine(store)
