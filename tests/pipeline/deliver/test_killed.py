"""H2: a keeper that is killed during a delivery loses nothing."""

import asyncio
from pathlib import Path

import pytest

from deemster.domain.ids import WorkId
from deemster.domain.webhook import WebhookFormat
from deemster.pipeline.verdict.cancel import cancel
from deemster.store.pool import connection
from deemster.store.webhooks import DeliveryState
from tests.builders import make_submission, queue_submission
from tests.pipeline.deliver.conftest import deliveries, until_ended
from tests.pipeline.deliver.receiver import OK, Request, receiving
from tests.pipeline.deliver.test_heng_callbacks import make_task, told
from tests.system.service import Service
from tests.waiting import until


async def make_work(service: Service, webhook_format: WebhookFormat, url: str) -> WorkId:
    if webhook_format is WebhookFormat.STANDARD:
        submission = await make_submission(service.pool, webhook_url=url)
        await queue_submission(service.pool, submission)
        return submission
    return await service.execute(
        "python3",
        "print(1)",
        client={"language": {"id": 71, "name": "Python"}},
        webhook_url=url,
        webhook_format=webhook_format,
    )


async def end_claim(service: Service) -> None:
    """Puts the clock forward: the claim of a dead keeper would last for some seconds yet."""
    await until(lambda: service.fleet.members["keeper"].codes)
    async with connection(service.pool) as writing:
        await writing.execute("UPDATE webhook_delivery SET claimed_until = now()")


@pytest.mark.parametrize("webhook_format", [WebhookFormat.STANDARD, WebhookFormat.JUDGE0])
async def test_a_webhook_sent_but_not_recorded_is_sent_again(
    database_url: str, queue_env: str, tmp_path: Path, webhook_format: WebhookFormat
) -> None:
    async def kill_it(_: Request, __: asyncio.StreamWriter) -> None:
        # The request is here in full, and nothing was written down of that.
        await service.fleet.kill(service.fleet.members["keeper"])

    async with (
        receiving(kill_it, OK) as receiver,
        Service.open(
            tmp_path,
            database_url,
            database_url,
            queue_env,
            webhook_allow_private=True,
        ) as service,
    ):
        service.fleet.start("keeper")
        await cancel(service.pool, await make_work(service, webhook_format, receiver.url))
        await end_claim(service)

        async def is_over() -> bool:
            (delivery,) = await deliveries(service.pool)
            return delivery.state is not DeliveryState.WAITING

        await until(is_over)
        (delivery,) = await deliveries(service.pool)
    assert (delivery.state, delivery.format) == (DeliveryState.DELIVERED, webhook_format)
    assert [(each.number, each.status) for each in delivery.attempts] == [(1, 200)]
    assert receiver.ids == [delivery.id] * 2
    assert len({request.body for request in receiver.got}) == 1


async def test_m6_a_callback_of_heng_sent_but_not_recorded_is_sent_again(
    database_url: str, queue_env: str, tmp_path: Path
) -> None:
    """The result still comes last, and once."""

    async def kill_it(_: Request, __: asyncio.StreamWriter) -> None:
        # The request is here in full, and nothing was written down of that.
        await service.fleet.kill(service.fleet.members["keeper"])

    async with (
        receiving(kill_it, OK, OK) as receiver,
        Service.open(
            tmp_path,
            database_url,
            database_url,
            queue_env,
            webhook_allow_private=True,
        ) as service,
    ):
        task = await make_task(service.pool, receiver)
        await cancel(service.pool, task)
        service.fleet.start("keeper")
        await end_claim(service)
        await until_ended(service.pool)
    assert told(receiver) == ["confirmed", "confirmed", "finish"]
