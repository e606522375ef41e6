"""Services on servers that all tests share; whoever kills servers starts their own."""

import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest
import pytest_asyncio

from deemster.bench.load.processes import free_address
from deemster.wiring.address import Address
from tests.services.databases import Databases
from tests.system.service import Service
from tests.waiting import until_ready

OpenService = Callable[..., AbstractAsyncContextManager[Service]]
SECRET: Final = "a secret of this installation, for tests"
SHARED: Final[dict[str, Any]] = {
    "compat": "heng,jobe,judge0,piston,sandboxfusion",
    "executions_per_minute_user": 10_000,
    "execution_wall_s": 3600,
    "secret_key": SECRET,
    "webhook_allow_private": True,
}


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


@asynccontextmanager
async def serving(
    directory: Path, databases: Databases, template: str, redis_url: str, **settings: Any
) -> AsyncIterator[RunningService]:
    address = free_address()
    with databases.lend(template) as url:
        async with Service.open(
            directory,
            url,
            redis_url,
            f"t{uuid.uuid4().hex}",
            host=address.host,
            port=address.port,
            **{"submit_interval_s": 0, **settings},
        ) as service:
            service.start("api", "relay", "worker", "keeper")
            await until_ready(address.url)
            yield RunningService(service, address)


@pytest_asyncio.fixture(scope="package", loop_scope="session")
async def shared_service(
    tmp_path_factory: pytest.TempPathFactory,
    databases: Databases,
    template: str,
    redis_url: str,
) -> AsyncIterator[RunningService]:
    """One for all tests of this directory that look only at what they have sent themselves."""
    directory = tmp_path_factory.mktemp("service")
    async with serving(directory, databases, template, redis_url, **SHARED) as running:
        yield running


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def own_service(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    databases: Databases,
    template: str,
    redis_url: str,
) -> AsyncIterator[RunningService]:
    """One for all tests of a module, with the settings that the module names `SETTINGS`."""
    directory = tmp_path_factory.mktemp("service")
    settings = getattr(request.module, "SETTINGS", {})
    async with serving(directory, databases, template, redis_url, **settings) as running:
        yield running
