"""Starts the database and all roles, supervises them, and ends them in order."""

import asyncio
import itertools
import signal
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Final

from deemster import __version__
from deemster.cli.token_file import TOKEN_FILE
from deemster.cli.up.child import RUNS_PROGRAMS, Child
from deemster.cli.up.display import Display
from deemster.cli.up.first_start import (
    NewAdmin,
    is_without_password,
    load_samples,
    make_admin,
)
from deemster.cli.up.logs import Log
from deemster.cli.up.status import show_status, until_ready
from deemster.cli.up.worker_processes import divide_worker
from deemster.domain.errors import DeemsterError
from deemster.domain.judge_host import JudgeOn
from deemster.settings import DEFAULT_URL, Settings, child_environment
from deemster.store.data_lock import lock_data_dir
from deemster.store.embedded import Cluster, run_cluster
from deemster.store.log_in_links import link_url
from deemster.store.pool import Pool, open_pool, transaction
from deemster.wiring.address import Address, find_free
from deemster.wiring.forked_process import ForkServerClient, open_fork_server
from deemster.wiring.process import signals_handled
from deemster.wiring.resources import migrate_database
from deemster.wiring.secret import secret_of

TIMEOUT_S: Final = {"api": 15.0, "relay": 10.0, "worker": 120.0, "keeper": 10.0}
DISPATCHER: Final = {"dispatcher": 10.0}
"""Time in which each role must end after SIGTERM. They end in this order: first no new
submissions come in, then no new jobs, then the running programs end."""
STARTS_LAST: Final = "keeper"
"""It has nothing to do at the start, and four processes start more slowly than three."""
RESTART_PAUSE_S: Final = 1.0


async def supervise(
    settings: Settings, *, weakness: str | None = None, names_data_dir: bool = False
) -> None:
    """Runs until a signal comes: the first one ends everything in order, the second at once.

    `weakness` says what is less safe here than it could be. With `names_data_dir` the commands
    that are shown name the data directory, because it is not the usual one.
    """
    running = asyncio.current_task()
    assert running is not None
    hurry = asyncio.Event()
    is_asked = False

    def on_signal(times: int) -> None:
        nonlocal is_asked
        if times == 1:
            is_asked = True
            running.cancel()
        else:
            hurry.set()

    with Display() as display, signals_handled(on_signal), hang_up_ends():
        try:
            if weakness is not None:
                display.warn(weakness)
            await Supervisor(settings, display, hurry, names_data_dir=names_data_dir).run()
        except asyncio.CancelledError:
            if not is_asked:
                raise
            display.close()
            display.say("Deemster has ended.")


@contextmanager
def hang_up_ends() -> Iterator[None]:
    """A closed terminal (SIGHUP) acts as SIGTERM, unless `nohup` makes it ignored."""
    loop = asyncio.get_running_loop()
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        yield
        return
    loop.add_signal_handler(signal.SIGHUP, signal.raise_signal, signal.SIGTERM)
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGHUP)


class Supervisor:
    def __init__(
        self,
        settings: Settings,
        display: Display,
        hurry: asyncio.Event,
        *,
        names_data_dir: bool,
    ) -> None:
        self._settings = settings
        self._names_data_dir = names_data_dir
        self._display = display
        self._hurry = hurry
        self._began = asyncio.get_running_loop().time()

    async def run(self) -> None:
        data_dir = self._settings.data_dir
        with lock_data_dir(data_dir, "`deemster up`"):
            address = find_free(self._settings.host, self._settings.port)
            self._display.say(f"Deemster {__version__}, data in {data_dir}")
            self._display.hint("starting the database …")
            log_path = data_dir / "logs" / "fork_server.log"
            async with Log.open(log_path, self._display.warn) as (_, output):
                with open_fork_server(
                    self._roles(), child_environment(), output
                ) as fork_server:
                    await self._serve_with_database(fork_server, address)

    async def _serve_with_database(
        self, fork_server: ForkServerClient, address: Address
    ) -> None:
        """The fork server imports the roles while the database starts."""
        async with open_database(self._settings, self._display) as url:
            await migrate_database(self._settings)
            async with open_pool(url, name="up", max_size=2) as pool:
                await self._serve(fork_server, url, pool, address)

    async def _serve(
        self, fork_server: ForkServerClient, url: str, pool: Pool, address: Address
    ) -> None:
        data_dir = self._settings.data_dir
        secret_of(self._settings)  # created now, before several roles need it
        async with transaction(pool) as connection:
            admin = await make_admin(connection, data_dir)
            needs_link = await is_without_password(connection)
        overrides = self._overrides(url, address)
        environment = child_environment(**overrides)
        log_dir = data_dir / "logs"
        self._display.hint("starting the service …")
        children = self._children(fork_server, overrides)
        async with run_children(children, log_dir, self._display, self._hurry):
            async with asyncio.TaskGroup() as group:
                group.create_task(
                    load_samples(pool, fork_server, environment, log_dir, self._display)
                )
                group.create_task(until_ready(address, self._display))
            for child in children:
                child.settle()
            self._welcome(address, admin, needs_link=needs_link)
            await show_status(pool, address, self._display)

    def _roles(self) -> dict[str, float]:
        """The roles to run, each with the time that it gets to end."""
        if self._settings.judge_on is JudgeOn.WORKERS:
            return TIMEOUT_S
        return TIMEOUT_S | DISPATCHER

    def _children(
        self, fork_server: ForkServerClient, overrides: Mapping[str, object]
    ) -> list[Child]:
        """In the order in which they end: one for each role, and several for a large worker."""
        children = []
        for role, timeout_s in self._roles().items():
            shares = divide_worker(self._settings) if role == RUNS_PROGRAMS else [{}]
            for number, share in enumerate(shares, start=1):
                children.append(
                    Child(
                        role,
                        child_environment(**{**overrides, **share}),
                        self._display,
                        timeout_s=timeout_s,
                        name=role if number == 1 else f"{role}-{number}",
                        waits=role == STARTS_LAST,
                        fork_server=fork_server,
                    )
                )
        return children

    def _overrides(self, url: str, address: Address) -> dict[str, object]:
        overrides: dict[str, object] = {
            "data_dir": self._settings.data_dir,
            "work_dir": self._settings.work_dir,
            "host": address.host,
            "port": address.port,
        }
        if self._settings.slots is not None:
            overrides["slots"] = self._settings.slots
        if self._settings.sandbox_without:
            overrides["sandbox_without"] = ",".join(sorted(self._settings.sandbox_without))
        if self._settings.database_url is None:
            overrides["database_url"] = url
        return overrides

    def _welcome(self, address: Address, admin: NewAdmin | None, *, needs_link: bool) -> None:
        """The last line is the address to open."""
        took_s = asyncio.get_running_loop().time() - self._began
        say = self._display.say
        if admin is not None:
            path = self._settings.data_dir / TOKEN_FILE
            say(f"\nThe admin's token, shown only now and stored in {path}:\n  {admin.token}")
        say(next_steps(address, self._settings.data_dir, names=self._names_data_dir))
        say(f"Ready after {took_s:.1f} s: {address.url}", "bold")
        if admin is not None and admin.link_code is not None:
            say(
                "Open this page to log in as admin; the link works once:\n  "
                f"{link_url(self._settings.public_url or address.url, admin.link_code)}",
                "bold",
            )
        elif needs_link:
            variables = command_variables(
                address, self._settings.data_dir, names=self._names_data_dir
            )
            say(
                f"The admin has no password yet: `{variables}deemster user link admin` prints "
                "a link to log in."
            )


@asynccontextmanager
async def open_database(settings: Settings, display: Display) -> AsyncIterator[str]:
    """The URL of the operator's own database, or of an embedded one that is kept running."""
    if settings.database_url is not None:
        yield settings.database_url.get_secret_value()
        return
    async with run_cluster(settings.data_dir) as cluster, asyncio.TaskGroup() as group:
        keeping = group.create_task(keep_running(cluster, display))
        try:
            yield cluster.application_url
        finally:
            keeping.cancel()


async def keep_running(cluster: Cluster, display: Display) -> None:
    while True:
        code = await cluster.wait()
        display.warn(f"Postgres ended (exit code {code}) and is restarted.")
        try:
            await cluster.restart()
        except DeemsterError as fault:
            display.warn(str(fault))
            await asyncio.sleep(RESTART_PAUSE_S)


@asynccontextmanager
async def run_children(
    children: Sequence[Child], log_dir: Path, display: Display, hurry: asyncio.Event
) -> AsyncIterator[None]:
    """All children run inside the block; if one can't start at all, the block fails."""
    async with AsyncExitStack() as stack:
        logs = [
            await stack.enter_async_context(
                Log.open(log_dir / f"{child.name}.log", display.warn)
            )
            for child in children
        ]
        group = await stack.enter_async_context(asyncio.TaskGroup())
        for child, (log, output) in zip(children, logs, strict=True):
            group.create_task(child.keep(log, output))
        try:
            yield
        finally:
            for role, processes in itertools.groupby(children, lambda child: child.role):
                display.hint(f"ending the {role} … (Ctrl-C again ends all at once)")
                async with asyncio.TaskGroup() as ending:
                    for child in processes:
                        ending.create_task(child.end(hurry))


def next_steps(address: Address, data_dir: Path, *, names: bool) -> str:
    """Commands that the user can copy; with `names` they name the data directory."""
    variables = command_variables(address, data_dir, names=names)
    bearer = f'"Authorization: Bearer $(cat {data_dir / TOKEN_FILE})"'
    return (
        "\nFrom a terminal:\n"
        f"  {variables}deemster submit sum.py --problem prob_aplusb --wait\n"
        f"  curl -H {bearer} {address.url}/v1/problems\n"
        f"The API is described at {address.url}/docs. Ctrl-C ends everything.\n"
    )


def command_variables(address: Address, data_dir: Path, *, names: bool) -> str:
    """What stands before commands, so that they find this service."""
    variables = "" if address.url == DEFAULT_URL else f"DEEMSTER_URL={address.url} "
    return variables + (f"DEEMSTER_DATA_DIR={data_dir} " if names else "")
