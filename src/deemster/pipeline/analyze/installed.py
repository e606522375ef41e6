"""Finds the analysers of this machine, and where a box sees their files."""

import asyncio
import glob
import sysconfig
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from deemster.domain.analysis import Analyzer
from deemster.domain.language import Catalogue, fill
from deemster.programs.build.boxed_tools import (
    DEFAULT_BOX,
    VersionBox,
    paths_matching,
    step_view,
)
from deemster.programs.build.languages import load_catalogue
from deemster.programs.build.toolchain import FoundTools, find_tools, path_shown
from deemster.sandbox.command import Bind, View
from deemster.sandbox.runner import SandboxFault

MOUNT_DIR = "/opt/deemster"
"""In a box, the files of a wheel are below this directory, in one named after the analyser.

A box never sees the rest of Deemster's Python environment."""


@dataclass(frozen=True, slots=True)
class InstalledAnalyzer:
    analyzer: Analyzer
    found: FoundTools
    view: View

    @property
    def version(self) -> str:
        return self.found.version

    @property
    def tools(self) -> dict[str, str]:
        """The path of each tool in a box."""
        return {name: path_shown(path, self.view) for name, path in self.found.paths.items()}


@dataclass(frozen=True, slots=True)
class MissingAnalyzer:
    analyzer: Analyzer
    reason: str


async def find_analyzers(
    analyzers: Iterable[Analyzer], version_box: VersionBox = DEFAULT_BOX
) -> list[InstalledAnalyzer | MissingAnalyzer]:
    catalogue = load_catalogue()
    async with asyncio.TaskGroup() as group:
        searches = [
            group.create_task(find_analyzer(each, catalogue, version_box)) for each in analyzers
        ]
    return [search.result() for search in searches]


async def find_analyzer(
    analyzer: Analyzer, catalogue: Catalogue, version_box: VersionBox
) -> InstalledAnalyzer | MissingAnalyzer:
    places = own_places()
    views: list[View] = []

    def view_of(tools: Mapping[str, str]) -> View:
        views.append(analyzer_view(analyzer, catalogue, tools, places))
        return views[-1]

    try:
        found = await find_tools(
            analyzer, view_of, [analyzer.permissions], places, version_box=version_box
        )
    except (TimeoutError, SandboxFault) as fault:
        found = str(fault)
    if isinstance(found, str):
        return MissingAnalyzer(analyzer, found)
    return InstalledAnalyzer(analyzer, found, views[-1])


def analyzer_view(
    analyzer: Analyzer,
    catalogue: Catalogue,
    tools: Mapping[str, str],
    places: Mapping[str, str],
) -> View:
    mounts = [
        Bind(path.resolve(), f"{MOUNT_DIR}/{analyzer.id}/{path.name}")
        for pattern in fill(analyzer.mounts, places)
        for path in paths_matching(pattern)
    ]
    like = catalogue.paths_shown(analyzer)
    hides = [path for name in analyzer.shows_like for path in catalogue.named(name).hides]
    return step_view(
        (*analyzer.argv, *analyzer.version.argv), like, tools, hides=hides, mounts=mounts
    )


def own_places() -> Mapping[str, str]:
    """Directories of the Python environment in which Deemster and the wheels are installed."""
    paths = {"scripts": "scripts", "packages": "purelib"}
    return {name: glob.escape(sysconfig.get_path(key)) for name, key in paths.items()}
