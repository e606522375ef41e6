"""Assembles judgehosts of a DOMjudge server, one for each slot."""

import asyncio
import fcntl
import os
import socket
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from contextlib import ExitStack, asynccontextmanager, contextmanager
from pathlib import Path

import structlog

from deemster.directory_store import sweep
from deemster.domain.errors import Refused
from deemster.domain.limits import MIB
from deemster.judgehost.backoff import Backoff
from deemster.judgehost.domjudge.executables import SCRIPT_PROFILE, Executables
from deemster.judgehost.domjudge.file_cache import FileCache
from deemster.judgehost.domjudge.host import DomjudgeHost
from deemster.judgehost.domjudge.judging import HostParts
from deemster.judgehost.domjudge.kept_judgings import KeptJudgings
from deemster.judgehost.domjudge.server import BACKOFF, DomServer, Login, api_url
from deemster.judgehost.domjudge.tasks import IDENTIFIER
from deemster.judgehost.domjudge.testcases import Testcases
from deemster.locks import locked
from deemster.programs.build.languages import load_catalogue
from deemster.programs.build.toolchain import Toolchain, locate_all
from deemster.sandbox.command import STANDARD_PROFILES, Profile
from deemster.sandbox.cores import reserve_cores
from deemster.sandbox.lanes import Lanes
from deemster.settings import Settings
from deemster.wiring.judging import permissions_of, script_view
from deemster.wiring.layers import layers_of
from deemster.wiring.process import signals_handled
from deemster.wiring.warming_up import toolchain_views, warming_up

log = structlog.get_logger()


async def run_domjudge_hosts(settings: Settings, url: str, slots: int | None = None) -> None:
    """SIGTERM drains: running test cases end, and the server gets the rest back."""
    slots = slots or settings.slots or max(1, len(os.sched_getaffinity(0)) - 1)
    login = login_of(settings, url)
    async with (
        open_domjudge_hosts(settings, login, slots, BACKOFF) as hosts,
        asyncio.TaskGroup() as group,
    ):
        running = [group.create_task(host.run()) for host in hosts]

        def on_signal(times: int) -> None:
            log.info("domjudge.draining" if times == 1 else "domjudge.stopping")
            for host, task in zip(hosts, running, strict=True):
                host.drain()
                if times > 1:
                    task.cancel()

        with signals_handled(on_signal):
            await asyncio.wait(running)


@asynccontextmanager
async def open_domjudge_hosts(
    settings: Settings, login: Login, slots: int, backoff: Backoff
) -> AsyncIterator[list[DomjudgeHost]]:
    place = settings.data_dir / "domjudge"
    names = host_names(settings, slots)
    core_locks = settings.core_locks
    with only_process(place / "hosts", names), reserve_cores(core_locks, slots) as cores:
        cache = await asyncio.to_thread(
            FileCache, place / "cache", settings.domjudge_cache_mb * MIB
        )
        async with (
            open_script_lanes(settings, slots, cores) as lanes,
            DomServer.open(login, backoff) as server,
        ):
            parts = HostParts(
                server, lanes, Executables(server, lanes, cache), Testcases(server, cache)
            )
            kept_bytes = settings.domjudge_keep_mb * MIB // slots
            yield [
                DomjudgeHost(name, parts, KeptJudgings(place / "judgings" / name, kept_bytes))
                for name in names
            ]


@asynccontextmanager
async def open_script_lanes(
    settings: Settings, count: int, cpus: Sequence[int]
) -> AsyncIterator[Lanes]:
    """Opens lanes in which scripts can use every installed toolchain."""
    usable = await asyncio.to_thread(locate_all, load_catalogue())
    await asyncio.to_thread(sweep, settings.work_dir)
    async with (
        Lanes.open(
            count,
            cpus=cpus,
            layers=layers_of(settings),
            profiles=[script_profile(usable)],
            script_view=script_view(usable),
            runner=settings.runner,
            read_mib_per_s=settings.sandbox_read_mb_per_s,
        ) as lanes,
        warming_up(settings, toolchain_views(usable)),
    ):
        yield lanes


def script_profile(toolchains: Iterable[Toolchain]) -> Profile:
    """Allows what any language needs: nobody knows what a script of the server starts."""
    base = next(each for each in STANDARD_PROFILES if each.name == SCRIPT_PROFILE)
    permissions = permissions_of(toolchains)
    allow = base.allow.union(*(each.allow for each in permissions))
    errno = {name: error for each in permissions for name, error in each.errno.items()}
    errno |= base.errno
    return Profile(
        base.name,
        may_exec=True,
        allow=allow,
        errno={name: error for name, error in errno.items() if name not in allow},
    )


def login_of(settings: Settings, url: str) -> Login:
    if settings.domjudge_password is None:
        raise Refused(
            "The password of the DOMjudge user is missing: set DEEMSTER_DOMJUDGE_PASSWORD, or "
            "write it to a file and set DEEMSTER_DOMJUDGE_PASSWORD_FILE."
        )
    api_url(url)
    password = settings.domjudge_password.get_secret_value()
    return Login(url, settings.domjudge_user, password)


def host_names(settings: Settings, slots: int) -> list[str]:
    """One name for each slot, as DOMjudge's own daemons have: HOST-0, HOST-1, …"""
    name = settings.judgehost_name or socket.gethostname().partition(".")[0]
    if not IDENTIFIER.fullmatch(name):
        raise Refused(
            f"{name!r} can't be the name of a judgehost: set DEEMSTER_JUDGEHOST_NAME to "
            "letters, digits, dots, underscores and hyphens."
        )
    return [f"{name}-{number}" for number in range(slots)]


@contextmanager
def only_process(directory: Path, names: Iterable[str]) -> Iterator[None]:
    """Two processes under one name would take each other's work back."""
    with ExitStack() as holding:
        for name in names:
            path = directory / name
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
            try:
                holding.enter_context(locked(path, fcntl.LOCK_EX | fcntl.LOCK_NB))
            except BlockingIOError:
                raise Refused(
                    f"The judgehost {name} already runs on this machine: stop it, or set "
                    "DEEMSTER_JUDGEHOST_NAME."
                ) from None
        yield
