"""The roles, each a process: api, relay, worker, keeper. Each runs until it is told to end."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import AsyncExitStack, suppress
from typing import Any, Final

import structlog

from deemster.domain.errors import Unavailable
from deemster.domain.task import QueueName
from deemster.pipeline.judge.build.languages import load_catalogue
from deemster.pipeline.outbox.reconcile import reconcile
from deemster.pipeline.outbox.relay import Relay
from deemster.pipeline.queue.consumer import Consumer
from deemster.pipeline.queue.producer import Producer
from deemster.pipeline.verdict.execution import Execution
from deemster.pipeline.verdict.rescue import rescue
from deemster.pipeline.verdict.start import Caps
from deemster.sandbox.cores import hold_cores
from deemster.settings import Settings
from deemster.store import outbox, workers
from deemster.store.pool import Pool, connection
from deemster.store.wake import OUTBOX, STOP, Ear
from deemster.wiring.judging import open_judging
from deemster.wiring.process import signals_heard
from deemster.wiring.service import (
    database_url,
    open_artifacts,
    open_database,
    open_shelf,
    queue_url,
)
from deemster.wiring.worker import (
    Bench,
    Registration,
    handler_of,
    heed_cancellations,
    keep_beating,
    open_courthouse,
)

log = structlog.get_logger()

RESCUE_S: Final = 1.0
RECONCILE_S: Final = 2.0
TRIM_S: Final = 60.0
KEPT_S: Final = 24 * 3600.0
TRIM_ROWS: Final = 10_000


async def run_relay(settings: Settings) -> None:
    async with (
        open_database(settings, "relay") as pool,
        Producer.open(queue_url(settings), settings.env) as producer,
        Ear.open(database_url(settings), OUTBOX) as ear,
    ):
        await until_told(Relay(pool, producer).run(ear))


async def run_keeper(settings: Settings) -> None:
    """The watchdog, and what is trimmed from time to time."""
    async with (
        open_database(settings, "keeper") as pool,
        Producer.open(queue_url(settings), settings.env) as producer,
    ):
        attempts = settings.run_attempts

        async def keep() -> None:
            async with asyncio.TaskGroup() as group:
                rescuing = again_and_again(
                    lambda: rescue(pool, most_attempts=attempts), RESCUE_S
                )
                group.create_task(rescuing)
                group.create_task(
                    again_and_again(lambda: reconcile(pool, producer), RECONCILE_S)
                )
                group.create_task(again_and_again(lambda: trim(pool, producer), TRIM_S))

        await until_told(keep())


async def trim(pool: Pool, producer: Producer) -> int:
    """Q12: what is over is told by the events."""
    async with connection(pool) as acquired:
        await outbox.trim(acquired, older_than_s=KEPT_S, most=TRIM_ROWS)
        await workers.trim(acquired, older_than_s=KEPT_S)
    await producer.trim()
    return 0


async def again_and_again(work: Callable[[], Awaitable[int]], pause_s: float) -> None:
    """While there is something to do, without a pause."""
    while True:
        found = 0
        try:
            found = await work()
        except Unavailable as fault:
            log.warning("keeper.unavailable", error=str(fault))
        await asyncio.sleep(0 if found else pause_s)


async def run_worker(settings: Settings, slots: int | None = None) -> None:
    slots = slots or settings.slots or max(1, len(os.sched_getaffinity(0)) - 1)
    catalogue = load_catalogue()
    async with AsyncExitStack() as stack:
        enter = stack.enter_async_context
        place = settings.work_dir.with_name(f"{settings.work_dir.name}-cores")
        cores = stack.enter_context(hold_cores(place, slots))
        pool = await enter(open_database(settings, "worker", most=slots + 4))
        artifacts = open_artifacts(settings)
        workshop, lanes = await enter(
            open_judging(settings, catalogue, catalogue, lanes=slots, cpus=cores)
        )
        shelf = open_shelf(settings, artifacts)
        courthouse = await enter(open_courthouse(settings, workshop, lanes, shelf))
        installed = await workshop.toolchains.installed(catalogue)
        registration = Registration(pool, slots, installed)
        execution = Execution(
            pool=pool,
            artifacts=artifacts,
            runs=registration.runs,
            judge=Bench(pool, artifacts, workshop, courthouse).judge,
            caps=Caps(
                settings.most_running,
                settings.most_running_per_user,
                settings.most_running_by_language,
            ),
            languages=installed,
            lease_s=settings.lease_s,
            most_attempts=settings.run_attempts,
            overhead_s=settings.run_overhead_s,
        )
        consumer = await enter(
            Consumer.open(
                queue_url(settings),
                settings.env,
                {QueueName.DEFAULT: handler_of(execution)},
                slots=slots,
                strict=settings.strict_priority,
                rate_per_s=settings.most_per_second,
                name=registration.runs.worker,
            )
        )
        ear = await enter(Ear.open(database_url(settings), STOP))
        await serve_worker(registration, consumer, ear)


async def serve_worker(registration: Registration, consumer: Consumer, ear: Ear) -> None:
    """SIGTERM drains; a second one stops at once, and what runs goes back (Q14)."""
    async with asyncio.TaskGroup() as group:

        def on_signal(times: int) -> None:
            log.info("worker.draining" if times == 1 else "worker.stopping")
            consumer.drain()
            group.create_task(quietly(registration.drain()))
            if times > 1:
                group.create_task(consumer.stop())

        with signals_heard(on_signal):
            services = [
                group.create_task(keep_beating(registration, consumer)),
                group.create_task(heed_cancellations(ear, registration.runs)),
            ]
            await consumer.run()
            for service in services:
                service.cancel()
    await quietly(registration.leave())


async def until_told(work: Coroutine[Any, Any, None]) -> None:
    """Cancels the work at the first signal: each of its steps may be the last."""
    async with asyncio.TaskGroup() as group:
        task = group.create_task(work)

        def end(_: int) -> None:
            task.cancel()

        with signals_heard(end), suppress(asyncio.CancelledError):
            await asyncio.shield(task)


async def quietly(work: Awaitable[None]) -> None:
    with suppress(Unavailable):
        await work
