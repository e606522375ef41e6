"""O6: every route with every kind of caller admits exactly those that the table names."""

import asyncio
import re
from collections.abc import Iterator

import pytest
from fastapi import FastAPI
from fastapi.routing import APIRoute
from starlette.routing import Route
from starlette.types import Message

from deemster.api.app import create_app
from deemster.api.permissions import (
    COMPAT_PERMISSIONS,
    HOST,
    JOBE_PREFIX,
    SIGNED_ROUTES,
    Permission,
    expected_routes,
    permission_of,
)
from deemster.domain.account import ALL_SCOPES, Role, Scope
from deemster.store import accounts
from deemster.store.pool import Pool, connection
from tests.api.conftest import MakeDependencies, make_user
from tests.waiting import PATIENCE_S

NOBODY_HAS = "0" * 26
PREFIXES = {"problems": "prob", "contests": "con", "users": "usr", "tokens": "tok"}
REFUSED = {401, 403}


def routes_of(app: FastAPI) -> Iterator[tuple[str, str]]:
    """Without those that no token opens."""
    for route in app.routes:
        if isinstance(route, Route):
            for method in sorted((route.methods or set()) - {"HEAD"}):
                if (method, route.path) not in SIGNED_ROUTES:
                    yield method, route.path


def filled(path: str) -> str:
    """The path with ids that do not exist."""

    def fill(found: re.Match[str]) -> str:
        room = path[: found.start()].rstrip("/").rsplit("/", 1)[-1]
        return f"{PREFIXES.get(room, 'sub')}_{NOBODY_HAS}"

    return re.sub(r"\{[a-z_]+\}", fill, path)


@pytest.fixture
def app(make_dependencies: MakeDependencies) -> FastAPI:
    # Nothing but the permissions may be in the way of so many requests.
    return create_app(
        make_dependencies(refused_logins_per_minute_ip=100_000, compat=list(COMPAT_PERMISSIONS))
    )


async def ask(app: FastAPI, method: str, path: str, token: str | None = None) -> int:
    """Without a body: who may not ask is refused before that is missed.

    The status is all that is waited for: a stream of events would not end.
    """
    headers = [(b"host", b"judge"), (b"authorization", f"Bearer {token}".encode())]
    scope = {
        "type": "http",
        "method": method,
        "path": filled(path),
        "query_string": b"",
        "headers": headers if token else headers[:1],
        "client": ("192.0.2.1", 1),
    }
    status = asyncio.get_running_loop().create_future()
    asked = False

    async def receive() -> Message:
        nonlocal asked
        if asked:
            await asyncio.Event().wait()
        asked = True
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            status.set_result(message["status"])

    async with asyncio.timeout(PATIENCE_S), asyncio.TaskGroup() as group:
        answering = group.create_task(app(scope, receive, send))
        found: int = await status
        answering.cancel()
    return found


async def token_of(pool: Pool, name: str, role: Role, scopes: frozenset[Scope]) -> str:
    user = await make_user(pool, name, role)
    async with connection(pool) as acquired:
        return await accounts.add_token(acquired, user.id, "x", scopes=scopes)


async def test_only_public_routes_accept_requests_without_credentials(
    app: FastAPI, client: object
) -> None:
    found = {route: await ask(app, *route) for route in routes_of(app)}
    for (method, path), status in found.items():
        if permission_of(method, path) is None:
            assert status not in REFUSED, (method, path, status)
        else:
            # As the original does.
            expected = 403 if path.startswith(JOBE_PREFIX) else 401
            assert status == expected, (method, path, status)


@pytest.mark.parametrize("role", list(Role))
async def test_each_role_is_admitted_where_the_table_says(
    app: FastAPI, client: object, pool: Pool, role: Role
) -> None:
    await make_user(pool, "last", Role.ADMIN)
    token = await token_of(pool, "who", role, ALL_SCOPES)
    for method, path in routes_of(app):
        need = permission_of(method, path)
        status = await ask(app, method, path, token)
        if need is HOST:
            assert status == 401, (method, path, status)
        elif isinstance(need, Permission) and not role.includes(need.role):
            assert status == 403, (method, path, status)
        else:
            assert status not in {*REFUSED, 500}, (method, path, status)


@pytest.mark.parametrize("scope", list(Scope))
async def test_a_token_without_the_scope_is_refused(
    app: FastAPI, client: object, pool: Pool, scope: Scope
) -> None:
    """An admin's token with all scopes except one, and one with that scope only."""
    without = await token_of(pool, "without", Role.ADMIN, ALL_SCOPES - {scope})
    alone = await token_of(pool, "alone", Role.ADMIN, frozenset({scope}))
    for method, path in routes_of(app):
        need = permission_of(method, path)
        if need is HOST:
            continue
        is_needed = isinstance(need, Permission) and need.scope is scope
        # Where another scope is needed, the test of that scope is admitted with it alone.
        if is_needed:
            assert await ask(app, method, path, without) == 403, (method, path)
        status = await ask(app, method, path, alone)
        assert (status == 403) == (need is not None and not is_needed), (method, path, status)


def test_every_route_that_needs_credentials_documents_it(app: FastAPI) -> None:
    """A7, A6: it documents 401, 403 and the token."""
    document = app.openapi()
    for route in app.routes:
        if not isinstance(route, APIRoute) or not route.include_in_schema:
            continue
        for method in route.methods or ():
            operation = document["paths"][route.path][method.lower()]
            asks = permission_of(method, route.path) is not None
            assert bool(operation.get("security")) == asks, (method, route.path)
            if asks:
                missing = {"401", "403"} - operation["responses"].keys()
                assert not missing, (method, route.path, missing)


def test_the_table_has_exactly_the_routes_of_the_app(app: FastAPI) -> None:
    assert {*routes_of(app), *SIGNED_ROUTES} == expected_routes(COMPAT_PERMISSIONS)
