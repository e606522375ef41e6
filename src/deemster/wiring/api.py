"""The API: HTTP on one port, in one process."""

import gc
import resource
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack, contextmanager
from typing import Final

import uvicorn
from fastapi import FastAPI

from deemster.api.app import create_app
from deemster.api.dependencies import Dependencies
from deemster.cache.cache import Cache
from deemster.limits.redis_buckets import open_buckets
from deemster.pipeline.accept.service import AcceptService
from deemster.pipeline.judge.build.languages import load_catalogue
from deemster.pipeline.queue.producer import Producer
from deemster.settings import Settings
from deemster.store.notifications import OUTBOX_CHANNEL, Notifier
from deemster.wiring.connection import Connection
from deemster.wiring.importing import open_importer
from deemster.wiring.process import signals_heard, until_told
from deemster.wiring.secret import open_secret
from deemster.wiring.service import open_artifacts, open_database, queue_url, revealed

CONNECTIONS: Final = 20
"""To the database."""
KEEP_ALIVE_S: Final = 30
GRACE_S: Final = 10
"""What requests that are being answered get when the process is told to end."""


async def run_api(settings: Settings) -> None:
    async with AsyncExitStack() as stack:
        enter = stack.enter_async_context
        pool = await enter(open_database(settings, "api", most=CONNECTIONS))
        secret = await until_told(open_secret(settings, pool))
        if secret is None:
            return
        producer = await enter(Producer.open(queue_url(settings), settings.env))
        bell = await enter(Notifier.open(pool, OUTBOX_CHANNEL))
        artifacts = open_artifacts(settings)
        catalogue = load_catalogue()
        accept = AcceptService(
            pool,
            artifacts,
            catalogue,
            on_accepted=bell.notify,
            interval_s=settings.submit_interval_s,
            daily_quota=settings.daily_quota,
        )
        dependencies = Dependencies(
            pool=pool,
            accept=accept,
            artifacts=artifacts,
            catalogue=catalogue,
            settings=settings,
            secret=secret,
            buckets=await enter(open_buckets(revealed(settings.cache_url), settings.env)),
            cache=await enter(Cache.open(revealed(settings.cache_url), settings.env)),
            ping_queue=producer.ping,
            queues=producer,
            importer=open_importer(settings, pool),
        )
        app = create_app(dependencies)
        # Who listens would else be waited for.
        await serve(app, settings, at_end=app.state.app_state.feed.drain)


async def serve(
    app: FastAPI, settings: Settings, *, at_end: Callable[[], None] = lambda: None
) -> None:
    """Until it is told to end."""
    config = uvicorn.Config(
        app,
        host=settings.host,
        port=settings.port,
        http=Connection,
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=bool(settings.trusted_proxies),
        forwarded_allow_ips=settings.trusted_proxies,
        timeout_keep_alive=KEEP_ALIVE_S,
        timeout_graceful_shutdown=GRACE_S,
    )
    server = Server(config)
    calm_collector()

    def end(times: int) -> None:
        at_end()
        server.should_exit = True
        server.force_exit = times > 1

    raise_descriptor_limit()
    with signals_heard(end):
        await server.serve()


def raise_descriptor_limit() -> None:
    """Each client that listens holds one, for as long as it likes."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def calm_collector() -> None:
    """What was made until now stays, and is looked through no more; a tenth of a request's
    time went into looking for garbage that wasn't there.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(5_000, 20, 20)


class Server(uvicorn.Server):
    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Ours are heard already; its own would end the process before we have cleaned up."""
        yield
