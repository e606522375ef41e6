"""Finds the compilers and interpreters of this machine, and their exact versions.

Versions are asked for outside of the cage: the tools belong to the host's owner, and where they
lie decides which paths the cage shows.
"""

import asyncio
import logging
import os
import re
import time
from asyncio.subprocess import DEVNULL, PIPE, STDOUT
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from deemster.domain.errors import Refused, Unavailable
from deemster.domain.language import Language, LanguageId, fill
from deemster.pipeline.judge.build.file_stamps import SYSTEM_FILES, Mark, marks_of

SEARCH_PATH = ("/usr/local/bin", "/usr/bin", "/bin")
"""Fixed: whoever starts Deemster doesn't choose the compiler by their own PATH."""
VERSION_ENVIRONMENT = {"PATH": ":".join(SEARCH_PATH), "LC_ALL": "C.UTF-8"}
VERSION_TIMEOUT_S = 20
KEPT_S: Final = 12 * 3600.0
"""So long what was found is believed, if no file tells that it changed (C3)."""
LOST_S: Final = 60.0
"""What was here and is not now is looked for again so soon: packages may just be changing."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Toolchain:
    language: Language
    tools: Mapping[str, str]
    """The real path of each tool: links such as /etc/alternatives are resolved."""
    version: str
    binds: tuple[Path, ...] = ()
    marks: tuple[Mark | None, ...] = ()
    """Of the tools before they told their version: while these hold, so does that."""

    @property
    def is_as_it_was(self) -> bool:
        return marks_of(self.tools.values()) == self.marks


@dataclass(frozen=True, slots=True)
class Missing:
    language: Language
    reason: str

    def refusal(self) -> Refused:
        return Refused(f"{self.reason}: install it with `{self.language.installation}`.")


@dataclass(frozen=True, slots=True)
class ToolchainSnapshot:
    """What was seen of a language, when it was looked for last."""

    first: Toolchain | Missing
    """What boxes were opened for: they show nothing that came later."""
    found: Toolchain | Missing
    system: tuple[Mark | None, ...]
    until_s: float


class Toolchains:
    """What works on this machine. A language is looked for once, and again when its tools or
    the packages of this machine changed, so that what is recorded of it stays true (J6).
    """

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._seen: dict[LanguageId, ToolchainSnapshot] = {}
        self.versions: dict[str, str] = {}
        """Of those that were found, by the language's id; changes as they do."""

    async def find(self, language: Language) -> Toolchain | Missing:
        seen = self._seen.get(language.id)
        if seen is None or self._is_due(seen):
            now = self._seen[language.id] = await self._look(language, seen)
            self._tell(now.found, is_news=seen is not None)
            return now.found
        return seen.found

    async def require(self, language: Language) -> Toolchain:
        found = await self.find(language)
        if isinstance(found, Toolchain):
            return found
        if isinstance(self._seen[language.id].first, Toolchain):
            # No fault of who asks, and another try may find it: here, or elsewhere.
            raise Unavailable(
                f"{found.reason}, and was at the start: see which packages were changed."
            )
        raise found.refusal()

    async def find_all(self, languages: Iterable[Language]) -> list[Toolchain | Missing]:
        async with asyncio.TaskGroup() as group:
            searches = [group.create_task(self.find(language)) for language in languages]
        return [search.result() for search in searches]

    async def look_after(self, languages: Iterable[Language]) -> None:
        """One after the other: the programs that run meanwhile are being measured."""
        for language in languages:
            await self.find(language)

    def _is_due(self, seen: ToolchainSnapshot) -> bool:
        """Some stats, of files that are in the kernel's memory: no work for a thread."""
        if seen.until_s <= self._clock() or seen.system != marks_of(SYSTEM_FILES):
            return True
        return isinstance(seen.found, Toolchain) and not seen.found.is_as_it_was

    async def _look(
        self, language: Language, seen: ToolchainSnapshot | None
    ) -> ToolchainSnapshot:
        # From before the look: what changes during it is seen by the next.
        system, now_s = marks_of(SYSTEM_FILES), self._clock()
        found = await discover(language)
        if seen is None:
            return ToolchainSnapshot(found, found, system, now_s + KEPT_S)
        if not fits(found, seen.first):
            found = left_of(seen.found)
            log.warning("%s is not what it was here: start the worker anew.", language.name)
        is_lost = isinstance(found, Missing) and isinstance(seen.first, Toolchain)
        keep_s = LOST_S if is_lost else KEPT_S
        return ToolchainSnapshot(seen.first, found, system, now_s + keep_s)

    def _tell(self, found: Toolchain | Missing, *, is_news: bool) -> None:
        language = found.language.id
        before = self.versions.pop(language, None)
        if isinstance(found, Toolchain):
            self.versions[language] = found.version
        after = self.versions.get(language)
        if is_news and after != before:
            log.warning("%s was %s, and is %s.", found.language.name, before, after)


def fits(found: Toolchain | Missing, first: Toolchain | Missing) -> bool:
    """Whether boxes that were opened for the first have all that it needs."""
    if isinstance(found, Missing):
        return True
    return isinstance(first, Toolchain) and set(found.binds) <= set(first.binds)


def left_of(known: Toolchain | Missing) -> Toolchain | Missing:
    """What can still be used of it when what came instead can't be."""
    if isinstance(known, Missing) or known.is_as_it_was:
        return known
    reason = f"{known.language.name} is not as it was, and what is here needs a new worker"
    return Missing(known.language, reason)


async def discover(language: Language) -> Toolchain | Missing:
    try:
        tools = await asyncio.to_thread(locate, language)
    except OSError as fault:  # a directory that went while it was being read
        return Missing(language, f"{language.name} can't be looked for, {fault.strerror}")
    if isinstance(tools, Missing):
        return tools
    marks = marks_of(tools.values())
    argv = fill(language.version.argv, tools)
    said = await ask(argv)
    match = re.search(language.version.pattern, said)
    if match is None:
        reason = f"{language.name} is broken here, `{' '.join(argv)}` gave no version"
        return Missing(language, reason)
    version = match.expand(language.version.text)
    return Toolchain(language, tools, version, find_binds(language), marks)


def locate(language: Language) -> dict[str, str] | Missing:
    """The real path of every tool; a later one may be sought beside an earlier one."""
    tools: dict[str, str] = {}
    directories: dict[str, str] = {}
    for name, candidates in language.tools.items():
        path = first_file(fill(candidates, tools | directories))
        if path is None:
            wanted = Path(candidates[0]).name
            return Missing(language, f"{language.name} needs {wanted}, which is not here")
        tools[name] = str(path)
        directories[f"{name}_dir"] = str(path.parent)
    return tools


def first_file(candidates: Iterable[str]) -> Path | None:
    """A command must be executable; an absolute path may also name a library."""
    for candidate in candidates:
        absolute = candidate.startswith("/")
        for place in [candidate] if absolute else under_search_path(candidate):
            for path in newest_first(matching(place)):
                if path.is_file() and os.access(path, os.R_OK if absolute else os.X_OK):
                    return path.resolve()
    return None


def matching(pattern: str) -> list[Path]:
    return list(Path("/").glob(pattern.removeprefix("/")))


def under_search_path(command: str) -> list[str]:
    return [f"{directory}/{command}" for directory in SEARCH_PATH]


def newest_first(paths: Iterable[Path]) -> list[Path]:
    """By the numbers in the names, so that java-17 comes before java-8."""
    return sorted(paths, key=numbers_apart, reverse=True)


def numbers_apart(path: Path) -> list[tuple[int, str]]:
    parts = re.split(r"(\d+)", str(path))
    return [(int(part), "") if part.isdigit() else (0, part) for part in parts]


def find_binds(language: Language) -> tuple[Path, ...]:
    return tuple(path for pattern in language.binds for path in sorted(matching(pattern)))


async def ask(argv: tuple[str, ...]) -> str:
    """What a tool says of its version; nothing when it can't be run."""
    try:
        process = await asyncio.create_subprocess_exec(
            *argv, stdin=DEVNULL, stdout=PIPE, stderr=STDOUT, env=VERSION_ENVIRONMENT
        )
    except OSError:
        return ""
    try:
        async with asyncio.timeout(VERSION_TIMEOUT_S):
            said, _ = await process.communicate()
    except TimeoutError:
        return ""
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return said.decode(errors="replace") if process.returncode == 0 else ""
