"""A running service that offers compatible APIs, and clients of it in their own processes."""

import asyncio
import json
import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deemster.domain.account import Role
from deemster.store import accounts
from deemster.store.pool import connection
from tests.builders import make_account
from tests.system.conftest import RunningService
from tests.system.service import Service
from tests.waiting import PATIENCE_S


@dataclass(frozen=True, slots=True)
class CompatService:
    service: Service
    url: str
    token: str

    @property
    def url_with_token(self) -> str:
        """For clients that can send no header."""
        return self.url.replace("http://", f"http://token:{self.token}@")


async def new_client(running: RunningService) -> CompatService:
    """For a service that tests share: a user of their own."""
    return CompatService(
        running.service, running.address.url, await make_client(running.service)
    )


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
