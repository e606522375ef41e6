"""Runs a role as the service's user when root starts it; only the runners stay root (X11)."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import parse_qs, unquote, urlsplit

from pydantic import SecretStr

from deemster.privileges.capabilities import Capability
from deemster.privileges.drop import (
    ServicePaths,
    give_up_root,
    give_up_the_rest,
    is_claimed,
)
from deemster.privileges.service_user import can_change_user, find_service_user
from deemster.sandbox.launched_runner import start_launcher, use_launcher
from deemster.sandbox.runner_start import PACKAGED_RUNNER
from deemster.settings import Settings, keep_files, keep_settings
from deemster.settings.artifact_directory import directory_in
from deemster.wiring.layers import layers_of

FIRST_FREE_PORT: Final = 1024


@dataclass(frozen=True, slots=True)
class Entered:
    """A process that runs with as few privileges as it can."""

    settings: Settings
    weakness: str | None = None
    """A sentence for the operator, if the process had to stay root."""


def enter_service(
    settings: Settings,
    *,
    runner: bool = False,
    listens: bool = False,
    reads: Sequence[Path] = (),
) -> Entered:
    """Gives up root, if this process has it. Call this before the first thread starts.

    With `runner`, this process can start runners afterwards. With `listens`, it can still use
    a port below 1024, if the settings name one. With `reads`, it can still read these files and
    directories as root can.
    """
    if not is_claimed():
        return Entered(settings)
    if not can_change_user():
        give_up_the_rest()
        return Entered(settings)
    settings = settings.model_copy(
        update={
            "data_dir": settings.data_dir.absolute(),
            "work_dir": settings.work_dir.absolute(),
        }
    )
    user = find_service_user()
    owned = [settings.data_dir, settings.work_dir, settings.core_locks]
    if (database := settings.data_dir / "postgres").exists():
        owned.append(database)
    if (shared := artifact_directory(settings)) is not None:
        owned.append(shared)
    given = [path.absolute() for path in reads if path.exists()]
    paths = ServicePaths(owned, [*read_paths(settings), *given])
    keep = set[Capability]()
    if listens and 0 < settings.port < FIRST_FREE_PORT:
        keep.add(Capability.NET_BIND_SERVICE)
    if reads:
        keep.add(Capability.DAC_READ_SEARCH)
    launcher = None
    if runner:
        memory = settings.judgehost_memory_dir
        below = [settings.data_dir, settings.work_dir, *([memory] if memory.is_dir() else [])]
        launcher = start_launcher(
            settings.runner or PACKAGED_RUNNER,
            layers_of(settings),
            below,
            user.uid,
            settings.sandbox_read_mb_per_s,
        )
    keep_files()
    reason = give_up_root(user, paths, keep)
    if reason is not None:
        give_up_the_rest()
        return Entered(settings, weakness_of(user.name, reason))
    keep_settings(settings.data_dir, data_dir=settings.data_dir, work_dir=settings.work_dir)
    if launcher is not None:
        use_launcher(launcher)
    return Entered(settings)


def without_service(settings: Settings) -> Settings:
    """For a command that needs no service: as root it leaves the directories of the service's
    user alone, so that it puts no files there that the service can't read.
    """
    try:
        owner = settings.data_dir.stat().st_uid
    except OSError:
        owner = os.geteuid()
    if os.geteuid() != 0 or owner == 0:
        return settings
    own = Path.home() / ".cache" / "deemster"
    return settings.model_copy(update={"data_dir": own, "work_dir": own / "work"})


def weakness_of(user: str, reason: str) -> str:
    return (
        f"All processes run as root, which is less safe than the user {user}, because "
        f"{reason}: install Deemster where every user can read it, such as /opt."
    )


def read_paths(settings: Settings) -> list[Path]:
    """The directories of Unix sockets that URLs name."""
    urls = (settings.database_url, settings.queue_url, settings.cache_url)
    found = [path for url in urls if url is not None for path in socket_directories(url)]
    return [path for path in found if path.exists()]


def artifact_directory(settings: Settings) -> Path | None:
    """The directory that all machines share, if there is one."""
    url = settings.artifacts_url
    return None if url is None else directory_in(url.get_secret_value())


def socket_directories(url: SecretStr) -> list[Path]:
    parts = urlsplit(url.get_secret_value())
    if parts.scheme.startswith("unix"):
        return [Path(unquote(parts.path)).parent]
    hosts = parse_qs(parts.query).get("host", [])
    return [Path(host) for host in hosts if host.startswith("/")]
