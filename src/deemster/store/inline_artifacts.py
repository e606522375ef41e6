"""Small artifacts in Postgres, by the caller's transaction; larger ones in their store."""

import hashlib
from dataclasses import dataclass
from typing import Final

from deemster.store.artifacts import Artifacts
from deemster.store.pool import Connection
from deemster.store.queries import statements

SQL = statements("artifacts")
INLINE_MAX_BYTES: Final = 64 * 1024
"""Up to this size they lie in Postgres (J11)."""


@dataclass(frozen=True, slots=True)
class PendingArtifact:
    digest: str
    content: bytes | None
    """What is still to be written, with the row that refers to it."""

    async def write(self, connection: Connection) -> None:
        if self.content is not None:
            await SQL.put(connection, digest=self.digest, content=self.content)


async def prepare(artifacts: Artifacts, content: bytes) -> PendingArtifact:
    """Before the transaction: no row may refer to what isn't there."""
    digest = digest_of(content)
    if len(content) <= INLINE_MAX_BYTES:
        return PendingArtifact(digest, content)
    await artifacts.put(content)
    return PendingArtifact(digest, None)


def digest_of(content: bytes) -> str:
    """The name of an artifact."""
    return hashlib.sha256(content).hexdigest()


async def fetch(connection: Connection, artifacts: Artifacts, digest: str) -> bytes:
    content = await SQL.get(connection, digest=digest)
    return bytes(content) if content is not None else await artifacts.get(digest)
