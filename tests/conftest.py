"""Gives tests a real Postgres and a real Redis, and an environment of their own."""

import gc
import os
import signal
import tempfile
import uuid
import zlib
from collections.abc import AsyncIterator, Callable, Generator, Iterator
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path

import psycopg
import pytest
import pytest_asyncio
import structlog
from hypothesis import HealthCheck, settings

from deemster.programs.tokenizer import Tokenizer
from deemster.sandbox.visible_files import can_show
from deemster.store.pool import Pool
from deemster.telemetry import SHARED
from tests.services.databases import Databases, cloned
from tests.services.kept_open import SHARED_BY_TESTS
from tests.services.kept_pool import KeptPool
from tests.services.shared import Services, joined

IGNORED_SIGNALS = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT)
"""`nohup`, and shells without job control, start background commands with these ignored."""
SHARED_SERVICES = ("shared_service", "chromium")
"""Fixtures of tests in several files that take long to set up."""
SHARED_PROCESSES = ("tests/bench/",)
"""Directories whose tests start roles by one process, which has imported them."""
TAKE_LONG = {
    *("chromium", "shared_service", *SHARED_PROCESSES),
    *("tests/cli/up/test_up.py", "tests/system/test_kill.py"),
    *("tests/system/test_outage.py", "tests/system/test_remote_network.py"),
}
"""Groups of tests that need half a minute and more."""
KEPT_VARIABLES = {"DEEMSTER_RUNNER", "DEEMSTER_TEST_SLOWNESS"}


def pytest_configure() -> None:
    """Makes a run independent of the shell that started it, and of the machine's load."""
    settings.register_profile(
        "deemster", deadline=None, suppress_health_check=[HealthCheck.too_slow]
    )
    settings.load_profile("deemster")
    for number in IGNORED_SIGNALS:
        if signal.getsignal(number) is signal.SIG_IGN:
            # A handler does nothing here either, but a child process gets the default back.
            signal.signal(number, lambda *_: None)
    for name in {name for name in os.environ if name.startswith("DEEMSTER_")} - KEPT_VARIABLES:
        del os.environ[name]


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collects no garbage meanwhile: nearly all that is made is kept."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(
    items: list[pytest.Item],
) -> None:
    """In a run with several processes, files that wait come between files that compute.

    In the order of their names, the tests of whole services would all wait at the same time.
    The order is the same in each run and in each process. Tests that share a service come one
    after the other, so that one process starts it.
    """
    if "PYTEST_XDIST_WORKER" in os.environ:
        groups: dict[str, list[pytest.Item]] = {}
        for item in items:
            groups.setdefault(group_of(item), []).append(item)
        processes = int(os.environ["PYTEST_XDIST_WORKER_COUNT"])
        items[:] = spread(groups, processes)


def spread(groups: dict[str, list[pytest.Item]], processes: int) -> list[pytest.Item]:
    """Each process gets an equal part of the list, and begins with groups that take long:
    begun last, such a group would keep one process busy after all others have ended.
    """
    names = sorted(groups, key=lambda name: zlib.crc32(name.encode()))
    long = [name for name in names if name in TAKE_LONG]
    others = iter([name for name in names if name not in TAKE_LONG])
    part = sum(map(len, groups.values())) / processes
    found: list[pytest.Item] = []
    for number in range(processes):
        for name in long[number::processes]:
            found += groups[name]
        while len(found) < part * (number + 1) and (name := next(others, "")):
            found += groups[name]
    return found


def group_of(item: pytest.Item) -> str:
    """The name of what the test shares with tests of other files, or its file."""
    names, path = getattr(item, "fixturenames", ()), item.nodeid.partition("::")[0]
    shared = [name for name in SHARED_SERVICES if name in names]
    shared += [name for name in SHARED_PROCESSES if path.startswith(name)]
    return shared[0] if shared else path


def pytest_collection_finish() -> None:
    """What was collected stays: the garbage collector need not look at it, not even once."""
    gc.freeze()


@pytest.fixture(autouse=True)
def plain_log() -> None:
    """Tracebacks are plain text, as in the service. By default structlog also renders the local
    variables of every frame, and in a process that has run many tests this takes minutes.
    """
    structlog.configure(processors=[*SHARED, structlog.processors.KeyValueRenderer()])


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
def databases(postgres_url: str) -> Iterator[Databases]:
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        found = Databases(connection, postgres_url)
        yield found
        found.close()


@pytest.fixture(scope="session")
def new_database(databases: Databases) -> NewDatabase:
    """Clones the named database; connecting anew costs as much as the clone."""
    return partial(cloned, databases.connection, databases.url)


@pytest.fixture
def database_url(databases: Databases, template: str) -> Iterator[str]:
    """A migrated database of the test's own."""
    with databases.lend(template) as url:
        yield url


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def kept_pool(databases: Databases) -> AsyncIterator[KeptPool]:
    pool = KeptPool()
    yield pool
    await pool.close()


@pytest.fixture
async def pool(database_url: str, kept_pool: KeptPool) -> AsyncIterator[Pool]:
    """On the test's own database."""
    yield await kept_pool.lend(database_url)
    await kept_pool.give_back()


@pytest_asyncio.fixture(scope="session", loop_scope="session", autouse=True)
async def close_what_tests_share() -> AsyncIterator[None]:
    yield
    await SHARED_BY_TESTS.close()


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def tokenizer() -> AsyncIterator[Tokenizer]:
    """Its process takes longer to start than most sources take."""
    async with Tokenizer() as opened:
        yield opened


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


@pytest.fixture
def shown_directory(request: pytest.FixtureRequest) -> Iterator[Path]:
    """A directory that boxes can show: they have a /tmp, a /work and others of their own."""
    assert request.config.cache is not None
    place = request.config.cache.mkdir("shown")
    if not can_show(place):
        place = Path.home() / ".cache"
        place.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=place, prefix="deemster-test-") as directory:
        yield Path(directory)
