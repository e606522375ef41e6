"""P6: the keeper compares finished submissions, and goes on after it was killed."""

from deemster.store.artifacts import Artifacts
from tests.pipeline.similarity.sources import made_source
from tests.pipeline.similarity.submitted import finish
from tests.system.conftest import OpenService
from tests.waiting import until

READ = "SELECT count(*) FROM similarity_program"
COMPARED = "SELECT count(*) FROM similarity_program WHERE compared_at IS NOT NULL"
PAIRS = "SELECT left_id, right_id FROM similarity_pair ORDER BY left_id, right_id"


async def test_a_killed_keeper_goes_on_where_it_was(open_service: OpenService) -> None:
    async with open_service() as service:
        artifacts = Artifacts.open(None, service.directory / "data")
        copies = []
        for seed in range(12):
            source = made_source(seed % 6)
            copies.append(await finish(service.pool, artifacts, f"u{seed}", source))

        async def some_are_read() -> bool:
            return bool(await service.value(READ) > 2)

        async def all_are_compared() -> bool:
            return bool(await service.value(COMPARED) == len(copies))

        first = service.fleet.start("keeper")
        await until(some_are_read)
        await service.fleet.kill(first)
        await until(all_are_compared)
        pairs = [tuple(row) for row in await service.fetch(PAIRS)]
        assert pairs == [(copies[seed], copies[seed + 6]) for seed in range(6)]
