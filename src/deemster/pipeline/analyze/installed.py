"""Finds the analysers of this machine, and where a box sees their files."""

import asyncio
import glob
import sysconfig
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from deemster.domain.analysis import Analyzer
from deemster.domain.language import fill
from deemster.programs.build.toolchain import FoundTools, find_tools, paths_matching
from deemster.sandbox.command import Bind

MOUNT_DIR = "/opt/deemster"
"""In a box, the files of a wheel are below this directory, in one named after the analyser.

A box never sees the rest of Deemster's Python environment."""


@dataclass(frozen=True, slots=True)
class InstalledAnalyzer:
    analyzer: Analyzer
    found: FoundTools
    binds: tuple[Bind, ...] = ()

    @property
    def version(self) -> str:
        return self.found.version

    @property
    def tools(self) -> dict[str, str]:
        """The path of each tool in a box."""
        return {name: self._path_in_box(path) for name, path in self.found.paths.items()}

    def _path_in_box(self, path: str) -> str:
        for bind in self.binds:
            if Path(path).is_relative_to(bind.source):
                return str(Path(bind.target) / Path(path).relative_to(bind.source))
        return path


@dataclass(frozen=True, slots=True)
class MissingAnalyzer:
    analyzer: Analyzer
    reason: str


async def find_analyzers(
    analyzers: Iterable[Analyzer],
) -> list[InstalledAnalyzer | MissingAnalyzer]:
    async with asyncio.TaskGroup() as group:
        searches = [group.create_task(find_analyzer(each)) for each in analyzers]
    return [search.result() for search in searches]


async def find_analyzer(analyzer: Analyzer) -> InstalledAnalyzer | MissingAnalyzer:
    places = own_places()
    try:
        found = await find_tools(analyzer, places)
    except TimeoutError as fault:
        found = str(fault)
    if isinstance(found, str):
        return MissingAnalyzer(analyzer, found)
    mounts = [
        Bind(path.resolve(), f"{MOUNT_DIR}/{analyzer.id}/{path.name}")
        for path in paths_matching(fill(analyzer.mounts, places))
    ]
    others = [Bind(path, str(path)) for path in paths_matching(analyzer.binds)]
    return InstalledAnalyzer(analyzer, found, (*mounts, *others))


def own_places() -> Mapping[str, str]:
    """Directories of the Python environment in which Deemster and the wheels are installed."""
    paths = {"scripts": "scripts", "packages": "purelib"}
    return {name: glob.escape(sysconfig.get_path(key)) for name, key in paths.items()}
