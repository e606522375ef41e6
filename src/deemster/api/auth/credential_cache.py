"""Knows the accounts behind tokens and log-ins for a moment, by their hashes."""

import asyncio
from collections.abc import Iterable
from typing import Final

import structlog

from deemster.cache.single_flight import SingleFlightCache
from deemster.domain.account import Account
from deemster.domain.errors import Unavailable
from deemster.domain.ids import TokenId
from deemster.store import sessions
from deemster.store.accounts import find_by_token_digest, mark_tokens_used
from deemster.store.pool import Pool, connection

KEPT_S: Final = 2.0
"""A token that is revoked by another process works for so long still."""
MOST_KNOWN: Final = 10_000
GATHER_S: Final = 1.0
log = structlog.get_logger()


class CredentialCache:
    def __init__(self, pool: Pool, *, session_s: float) -> None:
        self._pool = pool
        self._session_s = session_s
        # Tokens that nobody has are remembered too: they cost what others cost.
        self._tokens: SingleFlightCache[bytes, Account | None] = SingleFlightCache(
            self._look_for_token, keep_s=KEPT_S, max_entries=MOST_KNOWN
        )
        self._sessions: SingleFlightCache[bytes, Account | None] = SingleFlightCache(
            self._look_for_session, keep_s=KEPT_S, max_entries=MOST_KNOWN
        )
        self._used = set[TokenId]()
        self._seen = set[bytes]()
        self._wanted = asyncio.Event()

    async def of_token(self, digest: bytes) -> Account | None:
        return await self._tokens.get(digest)

    async def of_session(self, digest: bytes) -> Account | None:
        return await self._sessions.get(digest)

    def forget(self, digests: Iterable[bytes]) -> None:
        """What has just ended is known no more, in this process at once."""
        for digest in digests:
            self._tokens.forget(digest)
            self._sessions.forget(digest)

    async def note_uses(self) -> None:
        """Writes down, beside the requests, which tokens and log-ins were used."""
        while True:
            await self._wanted.wait()
            self._wanted.clear()
            used, self._used = self._used, set[TokenId]()
            seen, self._seen = self._seen, set[bytes]()
            try:
                async with connection(self._pool) as acquired:
                    if used:
                        await mark_tokens_used(acquired, used)
                    if seen:
                        await sessions.mark_seen(acquired, seen, keep_s=self._session_s)
            except Unavailable:
                pass  # noted with their next use
            except Exception:
                # When something was last used is not worth the process, so it goes on.
                log.exception("credential_cache.crashed")
            await asyncio.sleep(GATHER_S)

    async def _look_for_token(self, digest: bytes) -> Account | None:
        async with connection(self._pool) as acquired:
            found = await find_by_token_digest(acquired, digest)
        if found is not None and found.token is not None:
            self._used.add(found.token)
            self._wanted.set()
        return found

    async def _look_for_session(self, digest: bytes) -> Account | None:
        async with connection(self._pool) as acquired:
            found = await sessions.find_account(acquired, digest)
        if found is not None:
            self._seen.add(digest)
            self._wanted.set()
        return found
