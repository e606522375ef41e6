"""Services on servers that all tests share; whoever kills servers starts their own."""

import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest
import pytest_asyncio

from deemster.bench.load.processes import free_address
from deemster.wiring.address import Address
from tests.services.databases import Databases
from tests.system.service import Service
from tests.waiting import until_ready

OpenService = Callable[..., AbstractAsyncContextManager[Service]]


@pytest.fixture
def open_service(
    tmp_path: Path, database_url: str, redis_url: str, queue_env: str
) -> OpenService:
    """With its queue in Redis; further settings can be given."""
    return partial(Service.open, tmp_path, database_url, redis_url, queue_env)


@dataclass(frozen=True, slots=True)
class RunningService:
    """A service with all roles, and the address of its API."""

    service: Service
    address: Address


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def running_service(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    databases: Databases,
    template: str,
    redis_url: str,
) -> AsyncIterator[RunningService]:
    """One for all tests of a module that look only at what they have sent themselves.

    The module may have further settings, named `SETTINGS`.
    """
    address = free_address()
    settings = {"submit_interval_s": 0, **getattr(request.module, "SETTINGS", {})}
    directory = tmp_path_factory.mktemp("service")
    env = f"t{uuid.uuid4().hex}"
    with databases.lend(template) as url:
        async with Service.open(
            directory,
            url,
            redis_url,
            env,
            host=address.host,
            port=address.port,
            **settings,
        ) as service:
            service.start("api", "relay", "worker", "keeper")
            await until_ready(address.url)
            yield RunningService(service, address)
