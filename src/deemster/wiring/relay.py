"""Assembles the relay role, which sends jobs from the outbox to the queue."""

from deemster.pipeline.outbox.relay import Relay
from deemster.pipeline.queue.producer import Producer
from deemster.settings import Settings
from deemster.store.notifications import OUTBOX_CHANNEL, Listener
from deemster.wiring.process import run_until_signal
from deemster.wiring.resources import (
    database_url,
    open_database,
    queue_url,
    transmitted_tasks,
)


async def run_relay(settings: Settings) -> None:
    async with (
        # What the relay writes can be repeated: it may send a job twice. Work that waits for a
        # row which the relay has locked does not have to wait for the disk.
        open_database(settings, "relay", durable=False) as pool,
        Producer.open(
            queue_url(settings), settings.env, transmitted_tasks(settings)
        ) as producer,
        Listener.open(database_url(settings), OUTBOX_CHANNEL) as listener,
    ):
        await run_until_signal(Relay(pool, producer).run(listener))
