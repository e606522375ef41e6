"""Stores small artifacts in Postgres with the rows that refer to them, large ones outside."""

import hashlib
from dataclasses import dataclass
from typing import Final

from deemster.store.artifacts import Artifacts
from deemster.store.pool import Connection, statements

SQL = statements("inline_artifacts")
INLINE_MAX_BYTES: Final = 64 * 1024
"""Artifacts up to this size are stored in Postgres (J11)."""


@dataclass(frozen=True, slots=True)
class PendingArtifact:
    digest: str
    content: bytes | None
    """What is still to be written, in the transaction of the row that refers to it."""

    async def write(self, connection: Connection) -> None:
        if self.content is not None:
            await SQL.write(connection, digest=self.digest, content=self.content)


async def prepare(artifacts: Artifacts, content: bytes) -> PendingArtifact:
    """Call it before the transaction: a row must not refer to an artifact that is missing."""
    digest = digest_of(content)
    if len(content) <= INLINE_MAX_BYTES:
        return PendingArtifact(digest, content)
    await artifacts.put(content)
    return PendingArtifact(digest, None)


def digest_of(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


async def fetch(connection: Connection, artifacts: Artifacts, digest: str) -> bytes:
    content = await find_inline(connection, digest)
    return content if content is not None else await artifacts.get(digest)


async def find_inline(connection: Connection, digest: str) -> bytes | None:
    """Returns None for an artifact that is not in Postgres."""
    content = await SQL.fetch(connection, digest=digest)
    return bytes(content) if content is not None else None
