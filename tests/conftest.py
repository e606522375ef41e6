"""Gives tests a real Postgres and a real Redis, and their processes default signals."""

import os
import signal
import uuid
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import partial

import psycopg
import pytest

from tests.services.postgres import cloned
from tests.services.shared import Services, joined

IGNORED = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT)
"""By `nohup`, and by shells without job control for what runs in the background."""


def pytest_configure() -> None:
    """Lets a run go on ignoring signals, but not the processes that its tests start and signal.

    A process inherits what is ignored; what is handled it gets back as the default.
    """
    for number in IGNORED:
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, lambda *_: None)


@pytest.fixture(scope="session")
def services(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Services]:
    """Shared by all processes of this run."""
    base = tmp_path_factory.getbasetemp()
    run = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    with joined(run / "services") as running:
        yield running


@pytest.fixture(scope="session")
def postgres_url(services: Services) -> str:
    """The shared server, by a database that no test changes."""
    return services.postgres_url


@pytest.fixture(scope="session")
def template(services: Services) -> str:
    """The name of a migrated database, to be cloned."""
    return services.template


NewDatabase = Callable[[str], AbstractContextManager[str]]


@pytest.fixture(scope="session")
def new_database(postgres_url: str) -> Iterator[NewDatabase]:
    """Clones the named database; connecting anew costs as much as the clone."""
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        yield partial(cloned, connection, postgres_url)


@pytest.fixture
def database_url(new_database: NewDatabase, template: str) -> Iterator[str]:
    """A migrated database of the test's own."""
    with new_database(template) as url:
        yield url


@pytest.fixture(scope="session")
def redis_url(services: Services) -> str:
    """The shared server: whatever a test puts there carries its `queue_env`."""
    return services.redis_url


@pytest.fixture
def queue_env() -> str:
    """An environment's name that no other test has."""
    return f"t{uuid.uuid4().hex}"


@pytest.fixture(params=["postgres", "redis"])
def queue_url(request: pytest.FixtureRequest) -> str:
    """A place for queues, of both kinds."""
    url: str = request.getfixturevalue(
        "database_url" if request.param == "postgres" else "redis_url"
    )
    return url
