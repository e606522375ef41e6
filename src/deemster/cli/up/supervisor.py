"""Starts all that a judge needs on one machine, watches over it, and ends it cleanly."""

import asyncio
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from deemster import __version__
from deemster.cli.up.database import database
from deemster.cli.up.display import Display
from deemster.cli.up.first_start import TOKEN_FILE, make_admin
from deemster.cli.up.roles import staff
from deemster.cli.up.samples import load_samples
from deemster.cli.up.status import show_state, until_ready
from deemster.settings import DEFAULT_URL, Settings, child_environment, load_settings
from deemster.store.data_lock import lock_data_dir
from deemster.store.migrations import migrate
from deemster.store.pool import Pool, open_pool, transaction
from deemster.wiring.address import Address, find_free
from deemster.wiring.process import signals_handled
from deemster.wiring.secret import secret_of


async def supervise(settings: Settings) -> None:
    """Until a signal comes: the first ends everything in order, the second at once."""
    running = asyncio.current_task()
    assert running is not None
    hurry = asyncio.Event()
    asked = False

    def hear(times: int) -> None:
        nonlocal asked
        if times == 1:
            asked = True
            running.cancel()
        else:
            hurry.set()

    with Display() as board, signals_handled(hear), hang_up_heard():
        try:
            await Supervisor(settings, board, hurry).run()
        except asyncio.CancelledError:
            if not asked:
                raise
            board.close()
            board.say("Deemster has ended.")


@contextmanager
def hang_up_heard() -> Iterator[None]:
    """A terminal that closes ends us like any signal, unless we were told not to mind."""
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
    def __init__(self, settings: Settings, board: Display, hurry: asyncio.Event) -> None:
        self._settings = settings
        self._board = board
        self._hurry = hurry
        self._began = asyncio.get_running_loop().time()

    async def run(self) -> None:
        data_dir = self._settings.data_dir
        with lock_data_dir(data_dir, "`deemster up`"):
            address = find_free(self._settings.host, self._settings.port)
            self._board.say(f"Deemster {__version__}, data in {data_dir}")
            self._board.hint("starting the database …")
            async with database(self._settings, self._board) as url:
                await migrate(url)
                async with open_pool(url, name="up", max_size=2) as pool:
                    await self._serve(url, pool, address)

    async def _serve(self, url: str, pool: Pool, address: Address) -> None:
        data_dir = self._settings.data_dir
        secret_of(self._settings)  # made now, before several roles ask for it
        async with transaction(pool) as connection:
            token = await make_admin(connection, data_dir)
        environment = self._environment(url, address)
        log_dir = data_dir / "logs"
        self._board.hint("starting the service …")
        async with staff(environment, log_dir, self._board, self._hurry) as children:
            async with asyncio.TaskGroup() as group:
                group.create_task(load_samples(pool, environment, log_dir, self._board))
                group.create_task(until_ready(address, self._board))
            for child in children:
                child.settle()
            self._welcome(address, token)
            await show_state(pool, address, self._board)

    def _environment(self, url: str, address: Address) -> dict[str, str]:
        given: dict[str, object] = {
            "data_dir": self._settings.data_dir,
            "host": address.host,
            "port": address.port,
        }
        if self._settings.slots is not None:
            given["slots"] = self._settings.slots
        if self._settings.database_url is None:
            given["database_url"] = url
        return child_environment(**given)

    def _welcome(self, address: Address, token: str | None) -> None:
        took_s = asyncio.get_running_loop().time() - self._began
        say = self._board.say
        say(f"\nReady after {took_s:.1f} s: {address.url}", "bold")
        if token is not None:
            kept = self._settings.data_dir / TOKEN_FILE
            say(f"The admin's token, shown this once and kept in {kept}:\n  {token}")
        say(hints(address, self._settings.data_dir))


def hints(address: Address, data_dir: Path) -> str:
    """What to do next, as lines to be copied."""
    token = data_dir / TOKEN_FILE
    found = "" if address.url == DEFAULT_URL else f"DEEMSTER_URL={address.url} "
    if data_dir != load_settings().data_dir:
        found += f"DEEMSTER_DATA_DIR={data_dir} "
    return (
        "Try it:\n"
        f"  curl -s {address.url}/v1/submissions -H 'Content-Type: application/json' \\\n"
        f'    -H "Authorization: Bearer $(cat {token})" \\\n'
        '    -d \'{"problem_id": "prob_aplusb", "language": "python3",'
        ' "source_code": "print(sum(map(int, input().split())))"}\'\n'
        f"or, with a file:\n"
        f"  {found}deemster submit sum.py --problem prob_aplusb --wait\n"
        f"The API is described at {address.url}/docs. Ctrl-C ends everything.\n"
    )
