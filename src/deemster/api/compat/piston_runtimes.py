"""The languages of this judge under Piston's names, with versions that ranges can choose."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from deemster.api.app_state import AppState
from deemster.api.compat.request_json import Object
from deemster.api.compat.runnable_languages import installed
from deemster.api.compat.semver import Version, satisfies, version_in
from deemster.api.http.errors import NoWorkers
from deemster.domain.errors import Refused
from deemster.domain.language import Language

NAMES: Final[Mapping[str, str]] = {
    "cpp": "c++",
    "nasm": "nasm64",
    "python3": "python",
    "r": "rscript",
    "sql": "sqlite3",
}
"""Piston's names of languages that have another id here."""
MAX_SHOWN_CHARS: Final = 100


@dataclass(frozen=True, slots=True)
class Runtime:
    language: Language
    version: Version

    @property
    def name(self) -> str:
        return NAMES.get(self.language.id, self.language.id)

    @property
    def written_version(self) -> str:
        return written(self.version)

    def summary(self) -> Object:
        others = (self.language.id, *self.language.aliases)
        return {
            "language": self.name,
            "version": self.written_version,
            "aliases": [each for each in others if each != self.name],
        }


async def list_runtimes(state: AppState) -> Iterator[Runtime]:
    versions = await installed(state)
    return (
        Runtime(language, version)
        for language in state.dependencies.catalogue
        for version in sorted(numbers_of(versions.get(language.id, [])))
    )


async def find_runtime(state: AppState, name: str, wanted: str) -> Runtime:
    shown = f"{name[:MAX_SHOWN_CHARS]}-{wanted[:MAX_SHOWN_CHARS]}"
    unknown = Refused(f"{shown} runtime is unknown")
    versions = await installed(state)
    if not versions:
        raise NoWorkers("No worker takes jobs, so nothing can be run: try again later.")
    try:
        language = state.dependencies.catalogue.named(name)
    except Refused:
        raise unknown from None
    present = numbers_of(versions.get(language.id, []))
    matching = [each for each in present if satisfies(each, wanted)]
    if not matching:
        raise unknown
    if len(matching) < len(present):
        # Any worker may run the program, so the range must include all versions.
        others = ", ".join(written(each) for each in sorted(present - set(matching)))
        raise Refused(f"{shown} can't be chosen: some workers have {others}")
    return Runtime(language, max(matching))


def numbers_of(versions: list[str]) -> set[Version]:
    """A worker may name a version without a number."""
    return {version_in(each) or (0, 0, 0) for each in versions}


def written(version: Version) -> str:
    return ".".join(map(str, version))
