"""A running service that offers compatible APIs, and clients of it in their own processes."""

import asyncio
import json
import os
import secrets
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deemster.bench.load.processes import free_address
from deemster.domain.account import Role
from deemster.store import accounts
from deemster.store.pool import connection
from tests.builders import make_account
from tests.system.conftest import OpenService
from tests.system.service import Service
from tests.waiting import PATIENCE_S, until_ready


@dataclass(frozen=True, slots=True)
class CompatService:
    service: Service
    url: str
    token: str

    @property
    def url_with_token(self) -> str:
        """For clients that can send no header."""
        return self.url.replace("http://", f"http://token:{self.token}@")


@asynccontextmanager
async def serving(
    open_service: OpenService, compat: str, **settings: object
) -> AsyncIterator[CompatService]:
    address = free_address()
    where = {"host": address.host, "port": address.port}
    async with open_service(compat=compat, **where, **settings) as service:
        token = await make_client(service)
        service.start("api", "relay", "keeper", "worker")
        await until_ready(address.url)
        await service.until_workers(1)
        yield CompatService(service, address.url, token)


async def make_client(service: Service) -> str:
    """Returns the token of a new user."""
    account = await make_account(service.pool, f"client-{secrets.token_hex(4)}", Role.USER)
    async with connection(service.pool) as acquired:
        return await accounts.add_token(acquired, account, "test")


async def run_client(*argv: str | Path, env: Mapping[str, str] | None = None) -> Any:
    """Returns the JSON that the program prints."""
    process = await asyncio.create_subprocess_exec(
        *argv,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, **(env or {})},
    )
    async with asyncio.timeout(PATIENCE_S):
        said, errors = await process.communicate()
    assert process.returncode == 0, errors.decode()
    return json.loads(said)
