"""Joins settings, languages and sandbox: what a command or a worker opens before it works."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from functools import reduce

from deemster.domain.language import Permissions
from deemster.pipeline.judge.toolchain import Toolchain
from deemster.pipeline.judge.workspace import sweep
from deemster.sandbox.boxes import Boxes
from deemster.sandbox.command import STANDARD_PROFILES, Bind, Layers, Profile
from deemster.settings import Settings


@asynccontextmanager
async def open_boxes(
    settings: Settings,
    toolchains: Iterable[Toolchain] = (),
    *,
    slots: int = 1,
    cpus: Sequence[int] = (),
) -> AsyncIterator[Boxes]:
    """Boxes in which all the given toolchains work; with `cpus` each slot keeps to one."""
    found = list(toolchains)
    await asyncio.to_thread(sweep, settings.work_dir)
    async with Boxes.open(
        slots=slots,
        layers=layers_of(settings),
        profiles=STANDARD_PROFILES + profiles_of(found),
        binds=binds_of(found),
        runner=settings.runner,
        cpus=cpus,
    ) as boxes:
        yield boxes


def layers_of(settings: Settings) -> Layers:
    """All layers but those that the operator knowingly does without (X8)."""
    without = [Layers[name.upper()] for name in settings.sandbox_without]
    return reduce(lambda layers, layer: layers & ~layer, without, Layers.ALL)


def profiles_of(toolchains: Iterable[Toolchain]) -> tuple[Profile, ...]:
    """The profiles that go beyond the standard ones."""
    permissions: list[Permissions] = []
    for toolchain in toolchains:
        permissions.append(toolchain.language.run.permissions)
        if toolchain.language.compile:
            permissions.append(toolchain.language.compile.permissions)
    return tuple(extended(each) for each in permissions if each.profile != each.base)


def extended(permissions: Permissions) -> Profile:
    base = next(profile for profile in STANDARD_PROFILES if profile.name == permissions.base)
    return Profile(
        name=permissions.profile,
        may_exec=base.may_exec,
        allow=base.allow | permissions.allow,
        errno={**base.errno, **permissions.errno},
    )


def binds_of(toolchains: Iterable[Toolchain]) -> tuple[Bind, ...]:
    paths = {path for toolchain in toolchains for path in toolchain.binds}
    return tuple(Bind(path, str(path)) for path in sorted(paths))
