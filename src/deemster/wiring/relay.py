"""The relay: carries accepted submissions to the queue."""

from deemster.pipeline.outbox.relay import Relay
from deemster.pipeline.queue.producer import Producer
from deemster.settings import Settings
from deemster.store.notifications import OUTBOX_CHANNEL, Listener
from deemster.wiring.process import until_told
from deemster.wiring.service import database_url, open_database, queue_url


async def run_relay(settings: Settings) -> None:
    async with (
        open_database(settings, "relay") as pool,
        Producer.open(queue_url(settings), settings.env) as producer,
        Listener.open(database_url(settings), OUTBOX_CHANNEL) as ear,
    ):
        await until_told(Relay(pool, producer).run(ear))
