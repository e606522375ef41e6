"""Decides which files the boxes of a compiler, analyser or language server show, and asks these
tools for their versions in a box.
"""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from deemster.domain.language import Language, Permissions, fill, placeholders
from deemster.domain.limits import MIB, Limits
from deemster.domain.run_status import RunStatus
from deemster.sandbox.boxes import Boxes
from deemster.sandbox.command import (
    STANDARD_PROFILES,
    Bind,
    Command,
    FilesView,
    Layers,
    Profile,
)
from deemster.sandbox.runner import SandboxFault
from deemster.sandbox.visible_files import FileNeeds, make_view

VERSION_PROFILE: Final = "version"
VERSION_MEMORY_BYTES: Final = 1024 * MIB
VERSION_OUTPUT_BYTES: Final = MIB
WILDCARDS: Final = frozenset("*?[")


@dataclass(frozen=True, slots=True)
class Views:
    """What the boxes of a language show."""

    compile: FilesView
    run: FilesView
    version: FilesView


def language_views(
    language: Language, tools: Mapping[str, str], needs: FileNeeds | None = None
) -> Views:
    """Reads many files, so use a thread."""
    compiler, run, precompile = language.compile, language.run, language.precompile
    compile_argv = (
        *(compiler.argv if compiler else ()),
        *(precompile.argv if precompile else ()),
    )
    run_argv = (*run.argv, *run.environment.values())
    compile_paths = (*language.shows, *(compiler.shows if compiler else ()))
    run_paths = (*language.shows, *run.shows)
    both = (*compile_paths, *run_paths)
    hides, needs = language.hides, needs or FileNeeds()
    return Views(
        compile=step_view(compile_argv, compile_paths, tools, hides=hides, needs=needs),
        run=step_view(run_argv, run_paths, tools, hides=hides, needs=needs),
        version=step_view(language.version.argv, both, tools, hides=hides, needs=needs),
    )


def step_view(
    argv: Iterable[str],
    patterns: Iterable[str],
    tools: Mapping[str, str],
    *,
    hides: Iterable[str] = (),
    mounts: Iterable[Bind] = (),
    needs: FileNeeds | None = None,
) -> FilesView:
    """Shows the tools that a command uses, and the paths that its file names."""
    mounts = tuple(mounts)
    used = [tools[name] for name in sorted(placeholders(argv) & tools.keys())]
    elsewhere = [bind.source for bind in mounts]
    return make_view(
        [
            *(path for path in used if not any(map(Path(path).is_relative_to, elsewhere))),
            *paths_named(patterns, tools),
        ],
        mounts,
        paths_named(hides, tools),
        needs,
    )


def paths_named(patterns: Iterable[str], tools: Mapping[str, str]) -> list[str]:
    places = {f"{name}_dir": str(Path(path).parent) for name, path in tools.items()}
    return [
        str(path)
        for pattern in fill(patterns, places)
        for path in paths_matching(os.path.normpath(pattern))
    ]


def paths_matching(pattern: str) -> list[Path]:
    if WILDCARDS.isdisjoint(pattern):  # most have none, and a search takes much longer
        path = Path("/", pattern)
        return [path] if path.exists() else []
    return sorted(Path("/").glob(pattern.removeprefix("/")))


@dataclass(frozen=True, slots=True)
class VersionBox:
    """How to make the boxes in which tools tell their versions."""

    layers: Layers = Layers.ALL
    runner: Path | None = None

    async def output_of(
        self,
        argv: tuple[str, ...],
        view: FilesView,
        permissions: Iterable[Permissions],
        timeout_s: float,
    ) -> str:
        """Empty if the tool can't be run. Raises TimeoutError if it takes too long."""
        limits = Limits(
            cpu_ms=round(timeout_s * 1000),
            wall_ms=round(timeout_s * 1000),
            memory_bytes=VERSION_MEMORY_BYTES,
            output_bytes=VERSION_OUTPUT_BYTES,
        )
        command = Command(argv, limits, VERSION_PROFILE, view=view)
        async with Boxes.open(
            layers=self.layers,
            profiles=[version_profile(permissions)],
            views=[view],
            runner=self.runner,
        ) as boxes:
            try:
                report = await boxes.run(command)
            except SandboxFault as fault:
                if fault.step == "program-exec":  # not a program, or not readable for others
                    return ""
                raise
        if report.status in {RunStatus.WALL_LIMIT, RunStatus.TIME_LIMIT}:
            raise TimeoutError
        output = report.stdout + report.stderr
        return output.decode(errors="replace") if report.status is RunStatus.OK else ""


DEFAULT_BOX: Final = VersionBox()


def version_profile(permissions: Iterable[Permissions]) -> Profile:
    """Allows what any step of the tool needs: a version is asked in some other way."""
    base = next(profile for profile in STANDARD_PROFILES if profile.may_exec)
    allow, errno = base.allow, dict(base.errno)
    for each in permissions:
        allow |= each.allow
        errno |= each.errno
    return Profile(
        VERSION_PROFILE,
        may_exec=True,
        allow=allow,
        errno={name: error for name, error in errno.items() if name not in allow},
    )
