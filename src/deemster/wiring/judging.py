"""Opens sandbox boxes, lanes and the compiler with the toolchains that languages need."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from deemster.directory_store import sweep
from deemster.domain.language import Catalogue, Language, Permissions
from deemster.domain.limits import MIB
from deemster.programs.build.cached_compiler import BuildTools, CachedCompiler
from deemster.programs.build.languages import load_catalogue
from deemster.programs.build.tool_views import VersionBox
from deemster.programs.build.toolchain import Toolchain, Toolchains
from deemster.sandbox.boxes import Boxes
from deemster.sandbox.command import STANDARD_PROFILES, FilesView, Profile
from deemster.sandbox.lanes import Lanes
from deemster.sandbox.visible_files import system_view
from deemster.settings import Settings
from deemster.wiring.layers import layers_of

TOOLCHAIN_CHECK_S: Final = 60.0
"""Pause between two checks whether all toolchains are still the same."""


@asynccontextmanager
async def open_boxes(  # noqa: PLR0913 - options of the runner
    settings: Settings,
    toolchains: Iterable[Toolchain] = (),
    *,
    permissions: Iterable[Permissions] = (),
    views: Iterable[FilesView] = (),
    slots: int = 1,
    cpus: Sequence[int] = (),
    share_cpus: bool = False,
    low_priority: bool = False,
    keep_page_cache: bool = False,
) -> AsyncIterator[Boxes]:
    """Opens boxes for the given toolchains, and for other tools with these permissions and
    views; with `cpus`, each slot is pinned to one.
    """
    found = list(toolchains)
    await asyncio.to_thread(sweep, settings.work_dir)
    async with Boxes.open(
        slots=slots,
        layers=layers_of(settings),
        profiles=profiles_of([*permissions_of(found), *permissions]),
        views=[*views_of(found), *views],
        script_view=script_view(found),
        runner=settings.runner,
        cpus=cpus,
        share_cpus=share_cpus,
        low_priority=low_priority,
        read_mib_per_s=settings.sandbox_read_mb_per_s,
        keep_page_cache=keep_page_cache,
    ) as boxes:
        yield boxes


@asynccontextmanager
async def open_lanes(
    settings: Settings,
    toolchains: Iterable[Toolchain],
    count: int,
    cpus: Sequence[int] | None = None,
) -> AsyncIterator[Lanes]:
    """Opens lanes for the given toolchains."""
    found = list(toolchains)
    await asyncio.to_thread(sweep, settings.work_dir)
    async with Lanes.open(
        count,
        cpus=cpus,
        layers=layers_of(settings),
        profiles=profiles_of(permissions_of(found)),
        views=views_of(found),
        script_view=script_view(found),
        runner=settings.runner,
        read_mib_per_s=settings.sandbox_read_mb_per_s,
    ) as lanes:
        yield lanes


@asynccontextmanager
async def open_compiler(
    settings: Settings, *, precompile_on_demand: bool = True
) -> AsyncIterator[CachedCompiler]:
    """With `precompile_on_demand`, a program may wait for seconds, once."""
    async with CachedCompiler.open(
        work_dir=settings.work_dir,
        data_dir=settings.data_dir,
        cache_bytes=settings.compile_cache_mb * MIB,
        precompile_on_demand=precompile_on_demand,
    ) as compiler:
        yield compiler


def profiles_of(permissions: Iterable[Permissions]) -> list[Profile]:
    """The standard seccomp profiles, and those that the permissions need beyond them."""
    own = [extended(each) for each in permissions if each.profile != each.base]
    return [*STANDARD_PROFILES, *own]


def permissions_of(toolchains: Iterable[Toolchain]) -> list[Permissions]:
    steps = [step for each in toolchains for step in (each.language.run, each.language.compile)]
    return [step.permissions for step in steps if step is not None]


def extended(permissions: Permissions) -> Profile:
    base = next(profile for profile in STANDARD_PROFILES if profile.name == permissions.base)
    return Profile(
        name=permissions.profile,
        may_exec=base.may_exec,
        allow=base.allow | permissions.allow,
        errno={**base.errno, **permissions.errno},
    )


def script_view(toolchains: Iterable[Toolchain]) -> FilesView:
    """All programs and libraries, and other files of the toolchains, such as those in /etc."""
    system = system_view()
    shown = [Path(bind.target) for bind in system.binds]
    others = {
        bind
        for view in views_of(toolchains)
        for bind in view.binds
        if not any(map(Path(bind.target).is_relative_to, shown))
    }
    return FilesView((*system.binds, *sorted(others, key=lambda bind: bind.target)))


def views_of(toolchains: Iterable[Toolchain]) -> tuple[FilesView, ...]:
    return tuple(view for each in toolchains for view in (each.views.compile, each.views.run))


def version_box(settings: Settings) -> VersionBox:
    return VersionBox(layers_of(settings), settings.runner)


@asynccontextmanager
async def open_judging(
    settings: Settings,
    catalogue: Catalogue,
    languages: Iterable[Language],
    *,
    lanes: int,
    toolchains: Toolchains | None = None,
) -> AsyncIterator[tuple[BuildTools, Lanes]]:
    """Opens build tools and lanes for the given languages that are installed.

    `toolchains` may know some of the languages already.
    """
    toolchains = toolchains or Toolchains(version_box=version_box(settings))
    usable = await find_usable(toolchains, languages)
    async with (
        open_lanes(settings, usable, lanes) as opened,
        open_compiler(settings) as compiler,
    ):
        yield BuildTools(catalogue, toolchains, compiler, settings.work_dir), opened


@asynccontextmanager
async def open_judging_on_cores(
    settings: Settings, cores: Sequence[int]
) -> AsyncIterator[tuple[BuildTools, Lanes, list[Toolchain]]]:
    """Opens a lane on each of these cores, and build tools, for all installed languages."""
    catalogue = load_catalogue()
    toolchains = Toolchains(version_box=version_box(settings))
    usable = await find_usable(toolchains, catalogue)
    async with (
        open_lanes(settings, usable, len(cores), cores) as lanes,
        open_compiler(settings, precompile_on_demand=False) as compiler,
    ):
        yield BuildTools(catalogue, toolchains, compiler, settings.work_dir), lanes, usable


async def find_usable(toolchains: Toolchains, languages: Iterable[Language]) -> list[Toolchain]:
    """Returns the toolchains of those languages that are installed."""
    found = await toolchains.find_all(languages)
    return [each for each in found if isinstance(each, Toolchain)]


async def refresh_toolchains(build_tools: BuildTools) -> None:
    """Each job checks its own toolchain; this finds changes of all the others."""
    while True:
        await asyncio.sleep(TOOLCHAIN_CHECK_S)
        await build_tools.toolchains.refresh(build_tools.catalogue)


def make_spool(settings: Settings, memory: Path | None = None) -> Path:
    """Makes the directory for program outputs that wait for their checker.

    Judge hosts have it in `memory`, their directory in memory: these outputs resemble answers.
    """
    spool = (memory or settings.data_dir) / "spool"
    spool.mkdir(mode=0o700, parents=True, exist_ok=True)
    return spool
