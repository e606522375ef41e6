"""The public keys of an issuer: kept, fetched again when they are old or one is missing."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final

import structlog
from jwt import PyJWK
from jwt.exceptions import PyJWTError

from deemster.api.auth.issuer_client import IssuerDown, fetch_document

log = structlog.get_logger()
FRESH_S: Final = 600
"""A key that the issuer takes back is good for so long still."""
AGAIN_S: Final = 30
"""Between two fetches, however many unknown keys are named."""
AFTER_FAILURE_S: Final = 5
STALE_S: Final = 24 * 3600
"""While the issuer is away its keys are good for so long."""


class IssuerKeys:
    def __init__(
        self,
        where: Callable[[], Awaitable[str]],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._where = where
        self._clock = clock
        self._known: Sequence[Mapping[str, Any]] | None = None
        self._fetched_s = self._next_s = float("-inf")
        self._lock = asyncio.Lock()

    async def find(self, kid: str | None, algorithm: str) -> PyJWK | None:
        """None: the issuer has no such key for such a signature."""
        found = self._match(kid, algorithm)
        # One who has an old key waits for new ones; the others go by the old one meanwhile.
        good_s = STALE_S if self._lock.locked() else FRESH_S
        if found is None or self._age_s() > good_s:
            await self._refresh()
            found = self._match(kid, algorithm)
        return found

    async def _refresh(self) -> None:
        # Of many who miss a key one fetches, and the others look again when that is done.
        async with self._lock:
            if self._clock() >= self._next_s:
                try:
                    document = await fetch_document(await self._where())
                    self._known = usable(document)
                    self._fetched_s = self._clock()
                    self._next_s = self._clock() + AGAIN_S
                except IssuerDown as fault:
                    # From the end on: an issuer that hangs takes longer than that to fail, and
                    # all who wait in line here would ask it again, one after another.
                    self._next_s = self._clock() + AFTER_FAILURE_S
                    log.warning("issuer.unavailable", error=str(fault))
            if self._age_s() > STALE_S:
                raise IssuerDown("The issuer's keys can't be had: try again in a few seconds.")

    def _age_s(self) -> float:
        return self._clock() - self._fetched_s

    def _match(self, kid: str | None, algorithm: str) -> PyJWK | None:
        fitting = [
            key
            for key in self._known or ()
            if (kid is None or key.get("kid") == kid) and key.get("alg", algorithm) == algorithm
        ]
        made = [each for key in fitting if (each := key_of(key, algorithm)) is not None]
        # Without a name there must be no doubt.
        return made[0] if len(made) == 1 or (made and kid is not None) else None


def usable(document: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    keys = document.get("keys")
    if not isinstance(keys, list):
        raise IssuerDown("The issuer's key document has no list of keys.")
    return [key for key in keys if isinstance(key, dict) and key.get("use", "sig") == "sig"]


def key_of(key: Mapping[str, Any], algorithm: str) -> PyJWK | None:
    """None: it is of another kind than this algorithm needs."""
    try:
        return PyJWK(dict(key), algorithm)
    except PyJWTError:
        return None
