"""Finds a tool that comes in a wheel or a package, and where a box sees its files."""

import glob
import sysconfig
from collections.abc import Mapping
from dataclasses import dataclass

from deemster.domain.boxed_tool import BoxedTool
from deemster.domain.language import Catalogue, fill
from deemster.programs.build.tool_views import VersionBox, paths_matching, step_view
from deemster.programs.build.toolchain import FoundTools, find_tools, path_shown
from deemster.sandbox.command import Bind, FilesView
from deemster.sandbox.runner import SandboxFault

MOUNT_DIR = "/opt/deemster"
"""In a box, the files of a wheel are below this directory, in one named after the tool.

A box never sees the rest of Deemster's Python environment."""


@dataclass(frozen=True, slots=True)
class InstalledTool:
    found: FoundTools
    view: FilesView

    @property
    def version(self) -> str:
        return self.found.version

    @property
    def tools(self) -> dict[str, str]:
        """The path of each program in a box."""
        return {name: path_shown(path, self.view) for name, path in self.found.paths.items()}


async def find_installed(
    tool: BoxedTool, catalogue: Catalogue, version_box: VersionBox
) -> InstalledTool | str:
    """The tool, or the reason why it can't be used."""
    places = own_places()
    views: list[FilesView] = []

    def view_of(tools: Mapping[str, str]) -> FilesView:
        views.append(tool_view(tool, catalogue, tools, places))
        return views[-1]

    try:
        found = await find_tools(
            tool, view_of, [tool.permissions], places, version_box=version_box
        )
    except (TimeoutError, SandboxFault) as fault:
        return str(fault)
    return found if isinstance(found, str) else InstalledTool(found, views[-1])


def tool_view(
    tool: BoxedTool, catalogue: Catalogue, tools: Mapping[str, str], places: Mapping[str, str]
) -> FilesView:
    mounts = [
        Bind(path.resolve(), f"{MOUNT_DIR}/{tool.id}/{path.name}")
        for pattern in fill(tool.mounts, places)
        for path in paths_matching(pattern)
    ]
    like = catalogue.paths_shown(tool)
    hides = [path for name in tool.shows_like for path in catalogue.named(name).hides]
    return step_view((*tool.argv, *tool.version.argv), like, tools, hides=hides, mounts=mounts)


def own_places() -> Mapping[str, str]:
    """Directories of the Python environment in which Deemster and the wheels are installed."""
    paths = {"scripts": "scripts", "packages": "purelib"}
    return {name: glob.escape(sysconfig.get_path(key)) for name, key in paths.items()}
