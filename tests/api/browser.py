"""Accounts with passwords, and a browser that logs in."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx
from fastapi import FastAPI

from deemster.api.app import create_app
from deemster.api.dependencies import Dependencies
from deemster.domain.account import Role
from deemster.domain.ids import AccountId
from deemster.store import accounts
from deemster.store.pool import Pool, connection
from tests.api.conftest import QUICK, running

PASSWORD = "three plain words"
HASHED = QUICK.hash(PASSWORD)
PATH = "/v1/session"


async def make_person(
    pool: Pool, name: str = "ada", role: Role = Role.USER, hashed: str = HASHED
) -> AccountId:
    async with connection(pool) as acquired:
        account = await accounts.add(acquired, name, role)
        await accounts.set_password(acquired, account.id, hashed)
    return account.id


@dataclass(frozen=True, slots=True)
class Browser:
    """Keeps cookies, and sends the CSRF token of its session."""

    client: httpx.AsyncClient
    csrf: str

    async def send(self, method: str, path: str, body: object = None) -> httpx.Response:
        headers = {"X-CSRF-Token": self.csrf}
        return await self.client.request(method, path, json=body, headers=headers)


async def log_in(
    client: httpx.AsyncClient, name: str = "ada", password: str = PASSWORD, **headers: str
) -> httpx.Response:
    body = {"name": name, "password": password}
    return await client.post(PATH, json=body, headers=headers)


@asynccontextmanager
async def browsing(app: FastAPI, name: str = "ada") -> AsyncIterator[Browser]:
    """A browser that has logged in."""
    transport = httpx.ASGITransport(app=app)
    async with httpx.AsyncClient(transport=transport, base_url="http://judge") as client:
        answer = await log_in(client, name)
        assert answer.status_code == 201, answer.text
        yield Browser(client, answer.json()["csrf_token"])


@asynccontextmanager
async def serving(dependencies: Dependencies) -> AsyncIterator[httpx.AsyncClient]:
    async with running(create_app(dependencies)) as client:
        yield client


async def audit_entries(pool: Pool) -> list[tuple[str, str, str | None, dict[str, Any]]]:
    """The audit log, oldest entry first."""
    async with connection(pool) as acquired:
        rows = await acquired.fetch("SELECT actor, act, target, details FROM audit ORDER BY id")
    return [(row["actor"], row["act"], row["target"], row["details"]) for row in rows]
