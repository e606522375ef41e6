"""An app with its pages, and people who visit them."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import httpx
import pytest
from fastapi import FastAPI

from deemster.api.app import create_app
from deemster.web.error_texts import explain_to_script
from deemster.web.routes import ROUTES
from tests.api.browser import PASSWORD
from tests.api.conftest import (  # noqa: F401 - fixtures
    MakeDependencies,
    artifacts,
    cache,
    make_dependencies,
    producer,
    quick_hashes,
    running,
)

Visit = Callable[..., AbstractAsyncContextManager[httpx.AsyncClient]]


@pytest.fixture
def app(make_dependencies: MakeDependencies) -> FastAPI:  # noqa: F811
    return create_app(make_dependencies(sign_up=True), ROUTES, explain_to_script)


@pytest.fixture
async def visitor(app: FastAPI) -> AsyncIterator[httpx.AsyncClient]:
    """Somebody who is not logged in."""
    async with running(app) as client:
        yield client


@pytest.fixture
def visit(app: FastAPI) -> Visit:
    @asynccontextmanager
    async def log_in(name: str) -> AsyncIterator[httpx.AsyncClient]:
        async with running(app) as client:
            answer = await client.post("/login", data={"name": name, "password": PASSWORD})
            assert answer.status_code == 303, answer.text
            yield client

    return log_in
