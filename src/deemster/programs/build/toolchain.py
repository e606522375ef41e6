"""Finds the compilers and interpreters of this machine and their exact versions."""

import asyncio
import logging
import os
import re
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from deemster.domain.errors import Refused, Unavailable
from deemster.domain.language import Language, LanguageId, Permissions, VersionQuery, fill
from deemster.programs.build.tool_views import (
    DEFAULT_BOX,
    VersionBox,
    Views,
    language_views,
    paths_matching,
)
from deemster.sandbox.command import FilesView
from deemster.sandbox.runner import SandboxFault
from deemster.sandbox.visible_files import FileNeeds

SEARCH_PATH = ("/usr/local/bin", "/usr/bin", "/bin")
"""Fixed, so that the PATH of the user who starts Deemster doesn't choose the compiler."""
VERSION_TIMEOUT_S = 20
PATIENT_TIMEOUT_S = 60
"""For the second try, alone: on a busy machine, a tool may have had no turn in the first."""
RECHECK_S: Final = 12 * 3600.0
"""A toolchain is looked for again after this time, even if no file changed (C3)."""
RECHECK_LOST_S: Final = 60.0
"""The same for one that disappeared: its packages may be in the middle of an upgrade."""
SYSTEM_FILES: Final = (
    *("/var/lib/dpkg/status", "/var/lib/rpm", "/lib/apk/db"),
    "/etc/ld.so.cache",
)
"""Files that change with the installed packages, and so with libraries and headers."""

log = logging.getLogger(__name__)

FileStamp = tuple[int, int, int]
"""Size, modification time and inode of a file, which change when it is written."""


class Tooled(Protocol):
    """A language or an analyser: which tools it needs, and how to ask for their version."""

    @property
    def name(self) -> str: ...
    @property
    def tools(self) -> Mapping[str, tuple[str, ...]]: ...
    @property
    def version(self) -> VersionQuery: ...


NO_VIEWS: Final = Views(FilesView(()), FilesView(()), FilesView(()))


@dataclass(frozen=True, slots=True)
class FoundTools:
    paths: Mapping[str, str]
    """The path of each tool, with links such as /etc/alternatives resolved."""
    version: str
    stamps: tuple[FileStamp | None, ...]
    """The tools' stamps from before the version was read."""

    @property
    def is_unchanged(self) -> bool:
        return stamps_of(self.paths.values()) == self.stamps


@dataclass(frozen=True, slots=True)
class Toolchain:
    language: Language
    tools: Mapping[str, str]
    """The path of each tool, as in `FoundTools`."""
    version: str
    views: Views = NO_VIEWS
    stamps: tuple[FileStamp | None, ...] = ()

    @property
    def is_unchanged(self) -> bool:
        return stamps_of(self.tools.values()) == self.stamps


@dataclass(frozen=True, slots=True)
class Missing:
    language: Language
    reason: str
    timed_out: bool = False
    """The tools are there, but could not be asked for their version."""

    def refusal(self) -> Refused:
        return Refused(f"{self.reason}: install it with `{self.language.installation}`.")


@dataclass(frozen=True, slots=True)
class ToolchainSnapshot:
    """The result of the last search for a language's tools."""

    first: Toolchain | Missing
    """The result of the first search, for which the running sandboxes have a profile."""
    found: Toolchain | Missing
    system: tuple[FileStamp | None, ...]
    until_s: float


class Toolchains:
    """The toolchains of this machine.

    A language is looked for once, and again when its tools or the installed packages change,
    so that recorded versions stay true (J6).
    """

    def __init__(
        self,
        *,
        version_box: VersionBox = DEFAULT_BOX,
        clock: Callable[[], float] = time.monotonic,
        timeout_s: float = VERSION_TIMEOUT_S,
        patient_timeout_s: float = PATIENT_TIMEOUT_S,
    ) -> None:
        self._version_box = version_box
        self._clock = clock
        self._timeout_s = timeout_s
        self._patient_timeout_s = patient_timeout_s
        self._searching = asyncio.Semaphore(max(2, os.cpu_count() or 1))
        self._alone = asyncio.Lock()
        self._seen: dict[LanguageId, ToolchainSnapshot] = {}
        self.versions: dict[str, str] = {}
        """The versions of the found toolchains by language id; kept up to date."""

    async def find(
        self, language: Language, needs: FileNeeds | None = None
    ) -> Toolchain | Missing:
        """Searches for several languages at the same time can share `needs`."""
        seen = self._seen.get(language.id)
        if seen is None or self._is_due(seen):
            snapshot = self._seen[language.id] = await self._search(language, seen, needs)
            self._update_version(snapshot.found, is_first=seen is None)
            return snapshot.found
        return seen.found

    async def require(self, language: Language) -> Toolchain:
        found = await self.find(language)
        if isinstance(found, Toolchain):
            return found
        if timed_out(found):
            raise Unavailable(f"{found.reason}.")
        if isinstance(self._seen[language.id].first, Toolchain):
            # Another try may find it again, here or on another worker.
            raise Unavailable(
                f"{found.reason}, but it was when the worker started: "
                "check which packages were changed."
            )
        raise found.refusal()

    async def find_all(self, languages: Iterable[Language]) -> list[Toolchain | Missing]:
        needs = FileNeeds()
        async with asyncio.TaskGroup() as group:
            searches = [group.create_task(self.find(each, needs)) for each in languages]
        return [search.result() for search in searches]

    async def refresh(self, languages: Iterable[Language]) -> None:
        """Searches one after the other, to disturb running programs as little as possible."""
        for language in languages:
            await self.find(language)

    def _is_due(self, seen: ToolchainSnapshot) -> bool:
        """Calls stat on a few files; that is fast enough for the event loop."""
        if seen.until_s <= self._clock() or seen.system != stamps_of(SYSTEM_FILES):
            return True
        return isinstance(seen.found, Toolchain) and not seen.found.is_unchanged

    async def _search(
        self, language: Language, seen: ToolchainSnapshot | None, needs: FileNeeds | None
    ) -> ToolchainSnapshot:
        # Read before the search, so that the next one notices changes during this one.
        system, now_s = stamps_of(SYSTEM_FILES), self._clock()
        async with self._searching:
            found = await discover(language, self._timeout_s, self._version_box, needs)
        if timed_out(found):
            async with self._alone:
                found = await discover(language, self._patient_timeout_s, self._version_box)
        if seen is None:
            recheck_s = RECHECK_LOST_S if timed_out(found) else RECHECK_S
            return ToolchainSnapshot(found, found, system, now_s + recheck_s)
        if isinstance(found, Toolchain) and isinstance(seen.first, Missing):
            found = seen.found
            log.warning("%s was installed: restart the worker to use it.", language.name)
        is_lost = isinstance(found, Missing) and isinstance(seen.first, Toolchain)
        recheck_s = RECHECK_LOST_S if is_lost else RECHECK_S
        return ToolchainSnapshot(seen.first, found, system, now_s + recheck_s)

    def _update_version(self, found: Toolchain | Missing, *, is_first: bool) -> None:
        language = found.language.id
        before = self.versions.pop(language, None)
        if isinstance(found, Toolchain):
            self.versions[language] = found.version
        after = self.versions.get(language)
        if not is_first and after != before:
            log.warning("%s changed from %s to %s.", found.language.name, before, after)


def timed_out(found: Toolchain | Missing) -> bool:
    return isinstance(found, Missing) and found.timed_out


def stamp_of(path: str) -> FileStamp | None:
    """None if the file doesn't exist."""
    try:
        status = Path(path).stat()
    except OSError:
        return None
    return status.st_size, status.st_mtime_ns, status.st_ino


def stamps_of(paths: Iterable[str]) -> tuple[FileStamp | None, ...]:
    return tuple(stamp_of(path) for path in paths)


async def discover(
    language: Language,
    timeout_s: float = PATIENT_TIMEOUT_S,
    version_box: VersionBox = DEFAULT_BOX,
    needs: FileNeeds | None = None,
) -> Toolchain | Missing:
    steps = (language.run, language.compile)
    permissions = [step.permissions for step in steps if step is not None]
    views: list[Views] = []

    def version_view(tools: Mapping[str, str]) -> FilesView:
        views.append(language_views(language, tools, needs))
        return views[-1].version

    try:
        found = await find_tools(
            language, version_view, permissions, timeout_s=timeout_s, version_box=version_box
        )
    except (TimeoutError, SandboxFault) as fault:
        return Missing(language, str(fault).removesuffix("."), timed_out=True)
    if isinstance(found, str):
        return Missing(language, found)
    return Toolchain(language, found.paths, found.version, views[-1], found.stamps)


async def find_tools(
    wanted: Tooled,
    version_view: Callable[[Mapping[str, str]], FilesView],
    permissions: Iterable[Permissions],
    places: Mapping[str, str] | None = None,
    *,
    timeout_s: float = PATIENT_TIMEOUT_S,
    version_box: VersionBox = DEFAULT_BOX,
) -> FoundTools | str:
    """The tools, or the reason why they can't be used.

    `version_view` is called in a thread with the paths of the tools. Raises TimeoutError if the
    tools are there, but don't tell their version in time.
    """
    try:
        paths = await asyncio.to_thread(locate_tools, wanted, places)
        if isinstance(paths, str):
            return paths
        stamps = stamps_of(paths.values())
        view = await asyncio.to_thread(version_view, paths)
    except OSError as fault:  # a directory was removed during the search
        return f"{wanted.name} can't be looked for ({fault.strerror})"
    argv = tuple(path_shown(part, view) for part in fill(wanted.version.argv, paths))
    try:
        output = await version_box.output_of(argv, view, permissions, timeout_s)
    except TimeoutError:
        raise TimeoutError(
            f"{wanted.name} can't be used yet: `{' '.join(argv)}` printed no version within "
            f"{timeout_s:g} s"
        ) from None
    match = re.search(wanted.version.pattern, output)
    if match is None:
        return f"{wanted.name} is broken: `{' '.join(argv)}` printed no version"
    return FoundTools(paths, match.expand(wanted.version.text), stamps)


def path_shown(path: str, view: FilesView) -> str:
    """Where a box shows a file; the same for most files."""
    for bind in view.binds:
        if path.startswith("/") and Path(path).is_relative_to(bind.source):
            return str(Path(bind.target) / Path(path).relative_to(bind.source))
    return path


def locate_all(languages: Iterable[Language]) -> list[Toolchain]:
    """The toolchains that are installed, without their versions: a box would be made for each.

    Reads many files, so use a thread.
    """
    needs, found = FileNeeds(), []
    for language in languages:
        with suppress(OSError):  # a directory was removed during the search
            paths = locate_tools(language)
            if not isinstance(paths, str):
                views = language_views(language, paths, needs)
                found.append(Toolchain(language, paths, "", views))
    return found


def locate(language: Language) -> dict[str, str] | Missing:
    paths = locate_tools(language)
    return Missing(language, paths) if isinstance(paths, str) else paths


def locate_tools(
    wanted: Tooled, places: Mapping[str, str] | None = None
) -> dict[str, str] | str:
    """The path of every tool, or the reason why there is none.

    A candidate may refer to the directory of an earlier tool, and to `places` by name.
    """
    tools: dict[str, str] = {}
    directories = dict(places or {})
    for name, candidates in wanted.tools.items():
        path = first_file(fill(candidates, tools | directories))
        if path is None:
            tool = Path(candidates[0]).name
            return f"{wanted.name} needs {tool}, which is not installed"
        tools[name] = str(path)
        directories[f"{name}_dir"] = str(path.parent)
    return tools


def first_file(candidates: Iterable[str]) -> Path | None:
    """A command must be executable; an absolute path may also be a library."""
    for candidate in candidates:
        absolute = candidate.startswith("/")
        for pattern in [candidate] if absolute else in_search_path(candidate):
            for path in newest_first(paths_matching(pattern)):
                if path.is_file() and os.access(path, os.R_OK if absolute else os.X_OK):
                    return path.resolve()
    return None


def in_search_path(command: str) -> list[str]:
    return [f"{directory}/{command}" for directory in SEARCH_PATH]


def newest_first(paths: Iterable[Path]) -> list[Path]:
    """Compares numbers in the names, so that java-17 comes before java-8."""
    return sorted(paths, key=version_key, reverse=True)


def version_key(path: Path) -> list[tuple[int, str]]:
    parts = re.split(r"(\d+)", str(path))
    return [(int(part), "") if part.isdigit() else (0, part) for part in parts]
