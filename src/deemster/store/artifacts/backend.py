"""What a place for artifacts can do, and what is said when it can't."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

from deemster.domain.errors import Refused, Unavailable

CHUNK_BYTES = 1 << 20
BATCH = 500
"""Entries of a list that are looked at together."""
NAME = re.compile(r"[a-z]+(/[a-z0-9][a-z0-9._-]*)+")
DIGEST = re.compile(r"[0-9a-f]{64}")
CONTENT = "content"


class ArtifactMissing(Unavailable):
    """It is not there: removed, or never put."""


class ArtifactDamaged(Unavailable):
    """It is there, and not what it was."""


@dataclass(frozen=True, slots=True)
class ArtifactEntry:
    name: str
    size_bytes: int
    modified_s: float
    """Since the epoch, by the clock of the place."""


class ArtifactBackend(Protocol):
    """Every call blocks, and raises `Unavailable`; names were checked before."""

    def write(self, name: str, chunks: Iterable[bytes], size_bytes: int) -> None:
        """Durable when it returns; whoever reads sees all of it or what was there before."""

    def read(self, name: str) -> Iterator[bytes]: ...

    def find(self, name: str) -> ArtifactEntry | None: ...

    def list(self, folder: str) -> Iterator[list[ArtifactEntry]]: ...

    def remove(self, name: str, before_s: float | None = None) -> bool:
        """Only if it was written before that time; what isn't there is no fault."""

    def tidy(self) -> None:
        """Removes what killed processes left half written."""

    def ping(self) -> None: ...


def checked(name: str) -> str:
    if not NAME.fullmatch(name):
        raise Refused(f"{name[:80]!r} can't be the name of an artifact.")
    return name


def content_name(digest: str) -> str:
    if not DIGEST.fullmatch(digest):
        raise Refused(f"{digest[:80]!r} names no artifact: it is 64 digits, 0 to 9, a to f.")
    return f"{CONTENT}/{digest[:2]}/{digest}"


def missing(name: str, place: str) -> ArtifactMissing:
    return ArtifactMissing(f"There is no {name} in {place}: it was removed, or never kept.")
