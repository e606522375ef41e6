"""Knows the accounts behind tokens for a moment, by the hashes of the tokens."""

import asyncio
from typing import Final

from deemster.api.faults import Unauthorised
from deemster.cache.moment import Moment
from deemster.domain.account import Account
from deemster.domain.errors import Unavailable
from deemster.domain.ids import TokenId
from deemster.store.accounts import mark_used, of_digest, token_digest
from deemster.store.pool import Pool, connection

KEPT_S: Final = 2.0
"""A token that is revoked works for so long still."""
MOST_KNOWN: Final = 10_000
GATHER_S: Final = 1.0


class Guard:
    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        # Tokens that nobody has are remembered too: they cost what others cost.
        self._known: Moment[bytes, Account | None] = Moment(
            self._look, keep_s=KEPT_S, most=MOST_KNOWN
        )
        self._used = set[TokenId]()
        self._wanted = asyncio.Event()

    async def account(self, token: str) -> Account:
        found = await self._known.get(token_digest(token))
        if found is None:
            raise Unauthorised(
                "This token is not known, has expired or was revoked: get a new one."
            )
        return found

    async def note_uses(self) -> None:
        """Writes down, beside the requests, which tokens were used."""
        while True:
            await self._wanted.wait()
            self._wanted.clear()
            used, self._used = self._used, set[TokenId]()
            try:
                async with connection(self._pool) as acquired:
                    for token in used:
                        await mark_used(acquired, token)
            except Unavailable:
                pass  # noted with their next use
            await asyncio.sleep(GATHER_S)

    async def _look(self, digest: bytes) -> Account | None:
        async with connection(self._pool) as acquired:
            found = await of_digest(acquired, digest)
        if found is not None and found.token is not None:
            self._used.add(found.token)
            self._wanted.set()
        return found
