"""The interface of artifact stores, and the errors they raise."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

from deemster.domain.errors import Refused, Unavailable

CHUNK_BYTES = 1 << 20
BATCH = 500
"""Entries per list that `list` yields."""
NAME = re.compile(r"[a-z]+(/[a-z0-9][a-z0-9._-]*)+")
DIGEST = re.compile(r"[0-9a-f]{64}")
CONTENT = "content"


class ArtifactMissing(Unavailable):
    """The artifact was removed, or never stored."""


class ArtifactDamaged(Unavailable):
    """The artifact's content has changed."""


@dataclass(frozen=True, slots=True)
class ArtifactEntry:
    name: str
    size_bytes: int
    modified_s: float
    """Since the epoch, by the store's clock."""


class ArtifactBackend(Protocol):
    """Every call blocks and may raise `Unavailable`; the caller has checked the names."""

    def write(self, name: str, chunks: Iterable[bytes], size_bytes: int) -> None:
        """Durable when it returns; readers see all of it, or what was there before."""

    def read(self, name: str) -> Iterator[bytes]: ...

    def find(self, name: str) -> ArtifactEntry | None: ...

    def list(self, folder: str) -> Iterator[list[ArtifactEntry]]: ...

    def remove_partial_files(self) -> None:
        """Removes files that killed processes have left."""

    def ping(self) -> None: ...


def check_name(name: str) -> str:
    if not NAME.fullmatch(name):
        raise Refused(f"{name[:80]!r} is not a valid name of an artifact.")
    return name


def content_name(digest: str) -> str:
    if not DIGEST.fullmatch(digest):
        raise Refused(
            f"{digest[:80]!r} is not an artifact's digest: that has 64 digits, 0 to 9, a to f."
        )
    return f"{CONTENT}/{digest[:2]}/{digest}"


def artifact_missing(name: str, place: str) -> ArtifactMissing:
    return ArtifactMissing(
        f"There is no {name} in {place}: it was removed, or another machine stored it in "
        "another place. With several machines, all need the same DEEMSTER_ARTIFACTS_URL."
    )
