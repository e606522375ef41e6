"""Assembles the dispatcher role: gives jobs to judge hosts, and settles their results."""

import asyncio
from typing import Final

import httpx

from deemster.domain.job import QueueName
from deemster.domain.judge_host import derive_key
from deemster.domain.retry_policy import MaxTries
from deemster.pipeline.queue.consumer import Consumer
from deemster.pipeline.queue.producer import Producer
from deemster.pipeline.remote.data_links import DataLinks
from deemster.pipeline.remote.push import TaskPusher
from deemster.pipeline.remote.tasks import TaskBuilder
from deemster.pipeline.verdict.attempt import Caps
from deemster.pipeline.work.judge_twice import DoubleJudging
from deemster.pipeline.work.receive import Receiver
from deemster.pipeline.work.transmit import Transmitter
from deemster.settings import Settings
from deemster.store.notifications import EVENT_CHANNEL, ROOM_CHANNEL, Listener, Notifier
from deemster.wiring.keeper import repeat
from deemster.wiring.process import run_until_signal
from deemster.wiring.resources import database_url, open_artifacts, open_database, queue_url
from deemster.wiring.secret import open_secret
from deemster.wiring.stages import stage_policy

TRANSMIT_SLOTS: Final = 8
RECEIVE_SLOTS: Final = 4
LOST_RESULTS_S: Final = 2.0


async def run_dispatcher(settings: Settings) -> None:
    async with (
        open_database(
            settings, "dispatcher", max_size=TRANSMIT_SLOTS + RECEIVE_SLOTS + 4
        ) as pool,
        open_database(settings, "dispatcher", max_size=2, durable=False) as starting_pool,
        Producer.open(queue_url(settings), settings.env) as producer,
        Notifier.open(pool, EVENT_CHANNEL) as notifier,
        Listener.open(database_url(settings), ROOM_CHANNEL) as room_listener,
        httpx.AsyncClient(follow_redirects=False, trust_env=False) as http,
    ):
        secret = await run_until_signal(open_secret(settings, pool))
        if secret is None:
            return
        artifacts = open_artifacts(settings)
        transmitter = Transmitter(
            pool=pool,
            send_to_workers=producer.send_to_workers,
            builder=TaskBuilder(
                artifacts, DataLinks(secret), scale_times=settings.scale_time_limits
            ),
            push=TaskPusher(
                pool,
                http,
                lambda host, number: derive_key(secret, host, number),
                settings.judge_host_networks,
            ),
            judge_on=settings.judge_on,
            lease_s=settings.lease_s,
            caps={
                "submission": Caps(
                    settings.max_running,
                    settings.max_running_per_user,
                    settings.max_running_by_language,
                ),
                "execution": Caps(settings.max_executions, settings.max_executions_per_user),
            },
            on_start=notifier.notify_soon,
            starting_pool=starting_pool,
            wait_for_room=room_listener.wait,
        )
        receiver = Receiver(
            pool,
            artifacts,
            MaxTries(settings.run_attempts, 1 + settings.stage_retries),
            DoubleJudging(pool, settings.judge_twice, transmitter.deliver),
            stages=stage_policy(settings),
            on_end=notifier.notify,
        )
        async with (
            Consumer.open(
                queue_url(settings),
                settings.env,
                {QueueName.TRANSMIT: transmitter.handle},
                slots=TRANSMIT_SLOTS,
                name="dispatcher:transmit",
            ) as transmitting,
            Consumer.open(
                queue_url(settings),
                settings.env,
                {QueueName.RECEIVE: receiver.handle},
                slots=RECEIVE_SLOTS,
                name="dispatcher:receive",
            ) as receiving,
        ):

            async def run() -> None:
                async with asyncio.TaskGroup() as group:
                    group.create_task(transmitting.run())
                    group.create_task(receiving.run())
                    group.create_task(repeat(receiver.receive_waiting, LOST_RESULTS_S))

            await run_until_signal(run())
