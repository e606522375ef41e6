"""Finds the language servers of this machine, and opens their boxes."""

import asyncio
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import structlog

from deemster.domain.language import Catalogue
from deemster.domain.language_server import LanguageServer
from deemster.pipeline.execute.language_servers import (
    InstalledServer,
    LanguageServers,
    MissingServer,
)
from deemster.programs.build.installed_tool import find_installed
from deemster.programs.build.tool_views import VersionBox
from deemster.programs.language_servers import shipped_language_servers
from deemster.settings import Settings
from deemster.wiring.execution_boxes import choose_cores, kept_off
from deemster.wiring.judging import open_boxes, version_box

log = structlog.get_logger()


@asynccontextmanager
async def open_language_servers(
    settings: Settings,
    catalogue: Catalogue,
    versions: Mapping[str, str],
    core_locks: Path,
    judging_cores: Collection[int],
) -> AsyncIterator[LanguageServers | None]:
    """Opens boxes of low priority, if possible on cores on which no worker judges. None: this
    worker is to run no language servers.
    """
    if not settings.language_servers:
        yield None
        return
    box = version_box(settings)
    async with asyncio.TaskGroup() as group:
        searches = [
            group.create_task(find_server(each, catalogue, box))
            for each in shipped_language_servers()
        ]
    servers = [search.result() for search in searches]
    for each in servers:
        if isinstance(each, MissingServer):
            log.warning("worker.no_language_server", name=each.server.name, reason=each.reason)
    installed = [each for each in servers if isinstance(each, InstalledServer)]
    cores = choose_cores(core_locks, judging_cores)
    async with (
        open_boxes(
            settings,
            permissions=[each.server.permissions for each in installed],
            views=[each.installed.view for each in installed],
            slots=settings.language_servers,
            cpus=sorted(cores),
            share_cpus=True,
            low_priority=settings.language_servers_yield,
        ) as boxes,
        kept_off(boxes, cores, core_locks, judging_cores),
    ):
        yield LanguageServers(boxes, servers, versions, settings.work_dir, settings.live_idle_s)


async def find_server(
    server: LanguageServer, catalogue: Catalogue, box: VersionBox
) -> InstalledServer | MissingServer:
    found = await find_installed(server, catalogue, box)
    if isinstance(found, str):
        return MissingServer(server, f"{found}: install it with `{server.installation}`")
    return InstalledServer(server, found)
