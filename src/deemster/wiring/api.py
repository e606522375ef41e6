"""Assembles the API role: one process that serves HTTP on one port."""

import resource
from collections.abc import Callable
from contextlib import AsyncExitStack
from typing import Final

import uvicorn
from fastapi import FastAPI

from deemster.api.app import create_app
from deemster.api.dependencies import Dependencies
from deemster.cache.cache import Cache
from deemster.limits.redis_rate_limiter import open_rate_limiter
from deemster.pipeline.accept.available_languages import AvailableLanguages
from deemster.pipeline.accept.executions import ExecutionAccept
from deemster.pipeline.accept.submissions import AcceptService
from deemster.pipeline.queue.producer import Producer
from deemster.programs.build.languages import load_catalogue
from deemster.settings import Settings
from deemster.settings.ceilings import ceiling_of
from deemster.store.notifications import (
    EVENT_CHANNEL,
    HOST_CHANNEL,
    OUTBOX_CHANNEL,
    OUTPUT_CHANNEL,
    Listener,
    Notifier,
)
from deemster.web.error_texts import explain_to_script
from deemster.web.routes import ROUTES
from deemster.wiring.http_connection import HttpConnection
from deemster.wiring.http_server import Server
from deemster.wiring.problems import open_importer
from deemster.wiring.process import (
    reduce_garbage_collection,
    run_until_signal,
    signals_handled,
)
from deemster.wiring.resources import (
    database_url,
    open_artifacts,
    open_database,
    queue_url,
    revealed,
)
from deemster.wiring.secret import open_secret

DATABASE_CONNECTIONS: Final = 20
ASYNC_COMMIT_CONNECTIONS: Final = 4
KEEP_ALIVE_S: Final = 30
SOCKET_BYTES: Final = 256 * 1024
"""Most bytes of one message on a WebSocket."""
GRACE_S: Final = 10
"""Time that running requests get to finish when the process is asked to end."""


async def run_api(settings: Settings) -> None:
    async with AsyncExitStack() as stack:
        enter = stack.enter_async_context
        pool = await enter(open_database(settings, "api", max_size=DATABASE_CONNECTIONS))
        async_commit_pool = await enter(
            open_database(settings, "api", max_size=ASYNC_COMMIT_CONNECTIONS, durable=False)
        )
        secret = await run_until_signal(open_secret(settings, pool))
        if secret is None:
            return
        producer = await enter(Producer.open(queue_url(settings), settings.env))
        notifier = await enter(Notifier.open(pool, OUTBOX_CHANNEL))
        listener = await enter(Listener.open(database_url(settings), EVENT_CHANNEL))
        output_listener = await enter(Listener.open(database_url(settings), OUTPUT_CHANNEL))
        host_listener = await enter(Listener.open(database_url(settings), HOST_CHANNEL))
        artifacts = open_artifacts(settings)
        catalogue = load_catalogue()
        languages = AvailableLanguages(pool, settings.judge_on)
        accept = AcceptService(
            pool,
            artifacts,
            catalogue,
            languages,
            on_accepted=notifier.notify,
            interval_s=settings.submit_interval_s,
            daily_quota=settings.daily_quota,
        )
        dependencies = Dependencies(
            pool=pool,
            accept=accept,
            accept_executions=ExecutionAccept(
                pool,
                catalogue,
                languages,
                most=ceiling_of(settings),
                live_wall_ms=round(settings.live_wall_s * 1000),
                on_accepted=notifier.notify,
            ),
            artifacts=artifacts,
            catalogue=catalogue,
            settings=settings,
            secret=secret,
            rate_limiter=await enter(
                open_rate_limiter(revealed(settings.cache_url), settings.env)
            ),
            cache=await enter(Cache.open(revealed(settings.cache_url), settings.env)),
            ping_queue=producer.ping,
            queues=producer,
            importer=open_importer(settings, pool),
            async_commit_pool=async_commit_pool,
            wait_for_events=listener.wait,
            wait_for_output=output_listener.wait,
            wait_for_host_tasks=host_listener.wait,
        )
        app = create_app(dependencies, ROUTES, explain_to_script)
        # Otherwise the shutdown would wait for open event streams.
        await serve(app, settings, at_end=app.state.app_state.drain)


async def serve(
    app: FastAPI, settings: Settings, *, at_end: Callable[[], None] = lambda: None
) -> None:
    """Serves until SIGTERM or SIGINT."""
    config = uvicorn.Config(
        app,
        host=settings.host,
        port=settings.port,
        http=HttpConnection,
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=bool(settings.trusted_proxies),
        forwarded_allow_ips=settings.trusted_proxies,
        timeout_keep_alive=KEEP_ALIVE_S,
        timeout_graceful_shutdown=GRACE_S,
        ws_max_size=SOCKET_BYTES,
    )
    server = Server(config)
    reduce_garbage_collection()

    def end(times: int) -> None:
        at_end()
        server.should_exit = True
        server.force_exit = times > 1

    raise_descriptor_limit()
    with signals_handled(end):
        await server.serve()


def raise_descriptor_limit() -> None:
    """Each open event stream holds a descriptor."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
