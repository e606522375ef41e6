"""Finds the compilers and interpreters of this machine, and their exact versions.

Versions are asked for outside of the cage: the tools belong to the host's owner, and where they
lie decides which paths the cage shows.
"""

import asyncio
import os
import re
from asyncio.subprocess import DEVNULL, PIPE, STDOUT
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from deemster.domain.errors import Refused
from deemster.domain.language import Language, LanguageId, fill

SEARCH_PATH = ("/usr/local/bin", "/usr/bin", "/bin")
"""Fixed: whoever starts Deemster doesn't choose the compiler by their own PATH."""
VERSION_ENVIRONMENT = {"PATH": ":".join(SEARCH_PATH), "LC_ALL": "C.UTF-8"}
VERSION_TIMEOUT_S = 20


@dataclass(frozen=True, slots=True)
class Toolchain:
    language: Language
    tools: Mapping[str, str]
    """The real path of each tool: links such as /etc/alternatives are resolved."""
    version: str
    binds: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class Missing:
    language: Language
    reason: str

    def refusal(self) -> Refused:
        return Refused(f"{self.reason}: install it with `{self.language.installation}`.")


class Toolchains:
    """What was found on this machine; each language is looked for once."""

    def __init__(self) -> None:
        self._found: dict[LanguageId, Toolchain | Missing] = {}

    async def find(self, language: Language) -> Toolchain | Missing:
        if language.id not in self._found:
            self._found[language.id] = await discover(language)
        return self._found[language.id]

    async def require(self, language: Language) -> Toolchain:
        found = await self.find(language)
        if isinstance(found, Missing):
            raise found.refusal()
        return found

    async def find_all(self, languages: Iterable[Language]) -> list[Toolchain | Missing]:
        async with asyncio.TaskGroup() as group:
            searches = [group.create_task(self.find(language)) for language in languages]
        return [search.result() for search in searches]

    async def installed(self, languages: Iterable[Language]) -> frozenset[str]:
        """The ids of those that work here."""
        found = await self.find_all(languages)
        return frozenset(each.language.id for each in found if isinstance(each, Toolchain))


async def discover(language: Language) -> Toolchain | Missing:
    tools = await asyncio.to_thread(locate, language)
    if isinstance(tools, Missing):
        return tools
    argv = fill(language.version.argv, tools)
    said = await ask(argv)
    match = re.search(language.version.pattern, said)
    if match is None:
        reason = f"{language.name} is broken here, `{' '.join(argv)}` gave no version"
        return Missing(language, reason)
    version = match.expand(language.version.text)
    return Toolchain(language, tools, version, find_binds(language))


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
