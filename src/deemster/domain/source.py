"""The files that someone hands in as one program."""

from collections.abc import Mapping
from dataclasses import dataclass

from deemster.domain.errors import Refused
from deemster.domain.language import Language

SOURCE_BYTES = 1 << 20
"""Most bytes of source in one program."""


@dataclass(frozen=True, slots=True)
class Source:
    files: Mapping[str, bytes]
    """By name; names are plain, without any directory."""
    main: str

    def __post_init__(self) -> None:
        for name in self.files:
            if not name or "/" in name or "\0" in name or name in {".", ".."}:
                raise Refused(f"A source file can't be called {name!r}: give it a plain name.")
        size = sum(map(len, self.files.values()))
        if size > SOURCE_BYTES:
            raise Refused(
                f"The source is larger than the {SOURCE_BYTES // 1024:,} KiB that a "
                "program may have: make it smaller."
            )


def single(language: Language, given_name: str, content: bytes) -> Source:
    """A program of one file, under the name that its language accepts."""
    name = language.file_name(given_name, content.decode(errors="replace"))
    return Source({name: content}, main=name)
