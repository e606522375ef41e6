"""Caches the accounts of tokens and sessions for some seconds, by their digests."""

import asyncio
from collections.abc import Iterable
from typing import Final

import structlog

from deemster.cache.single_flight import SingleFlightCache
from deemster.domain.account import Account
from deemster.domain.errors import Unavailable
from deemster.domain.ids import AccountId, TokenId
from deemster.store import sessions
from deemster.store.accounts import find_by_token_digest, mark_tokens_used
from deemster.store.pool import Pool, connection

KEPT_S: Final = 2.0
"""A token that another process revokes stays valid for this time."""
MAX_ENTRIES: Final = 10_000
WRITE_EVERY_S: Final = 1.0
log = structlog.get_logger()


class CredentialCache:
    def __init__(self, pool: Pool, *, session_s: float) -> None:
        self._pool = pool
        self._session_s = session_s
        # Unknown tokens are cached too, because they cost the same query.
        self._tokens: SingleFlightCache[bytes, Account | None] = SingleFlightCache(
            self._find_token, keep_s=KEPT_S, max_entries=MAX_ENTRIES
        )
        self._sessions: SingleFlightCache[bytes, Account | None] = SingleFlightCache(
            self._find_session, keep_s=KEPT_S, max_entries=MAX_ENTRIES
        )
        self._used_tokens = set[TokenId]()
        self._used_sessions = set[bytes]()
        self._has_uses = asyncio.Event()

    async def of_token(self, digest: bytes) -> Account | None:
        return await self._tokens.get(digest)

    async def of_session(self, digest: bytes) -> Account | None:
        return await self._sessions.get(digest)

    def forget(self, digests: Iterable[bytes]) -> None:
        """Makes revoked tokens and ended sessions invalid at once in this process."""
        for digest in digests:
            self._tokens.forget(digest)
            self._sessions.forget(digest)

    def forget_account(self, account: AccountId) -> None:
        """Makes a new role count at once in this process."""

        def is_of_account(found: Account | None) -> bool:
            return found is not None and found.id == account

        self._tokens.forget_values(is_of_account)
        self._sessions.forget_values(is_of_account)

    async def record_uses(self) -> None:
        """Records in the background when tokens and sessions were last used."""
        while True:
            await self._has_uses.wait()
            self._has_uses.clear()
            tokens, self._used_tokens = self._used_tokens, set[TokenId]()
            digests, self._used_sessions = self._used_sessions, set[bytes]()
            try:
                async with connection(self._pool) as acquired:
                    if tokens:
                        await mark_tokens_used(acquired, tokens)
                    if digests:
                        await sessions.mark_seen(acquired, digests, keep_s=self._session_s)
            except Unavailable:
                pass  # their next use is recorded
            except Exception:
                # An unexpected error here must not end the process.
                log.exception("credential_cache.crashed")
            await asyncio.sleep(WRITE_EVERY_S)

    async def _find_token(self, digest: bytes) -> Account | None:
        async with connection(self._pool) as acquired:
            found = await find_by_token_digest(acquired, digest)
        if found is not None and found.token is not None:
            self._used_tokens.add(found.token)
            self._has_uses.set()
        return found

    async def _find_session(self, digest: bytes) -> Account | None:
        async with connection(self._pool) as acquired:
            found = await sessions.find_account(acquired, digest)
        if found is not None:
            self._used_sessions.add(digest)
            self._has_uses.set()
        return found
