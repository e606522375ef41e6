"""The queue store may be away: what is accepted waits in the database."""

from pathlib import Path

from tests.services.redis import OwnRedis, free_port
from tests.system.client import client_of
from tests.system.programs import MIXED
from tests.system.service import Service
from tests.system.truth import assert_exactly_once, until_all_ended, until_at_rest
from tests.system.waiting import until

TRIED = "SELECT count(*) FROM outbox WHERE error IS NOT NULL AND sent_at IS NULL"


async def test_with_redis_down_the_api_accepts_and_all_is_judged_when_it_is_back(
    tmp_path: Path, database_url: str, queue_env: str
) -> None:
    """Q2: the queue store is a road, and not where submissions are kept."""
    port = free_port()
    async with (
        OwnRedis(tmp_path / "redis") as redis,
        Service.open(tmp_path, database_url, redis.url, queue_env, port=port) as service,
    ):
        await redis.kill()
        service.start("api", "relay", "keeper", "worker")
        async with client_of(service, port) as client:
            ledger = {
                await client.submit(program, f"key-{number}"): program
                for number, program in enumerate(MIXED * 2)
            }

            async def has_tried() -> bool:
                return bool(await service.value(TRIED))

            await until(has_tried)
            for submission in ledger:
                assert (await client.look(submission))["status"] == "queued"
            await redis.start()
            await until_all_ended(service, ledger)
            for submission, program in ledger.items():
                found = await client.look(submission)
                assert (found["status"], found["verdict"]) == ("finished", program.verdict)
        await until_at_rest(service)
        await assert_exactly_once(service, ledger)
