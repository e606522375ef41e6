"""Caches the public keys of an issuer, and fetches them again if one is old or missing."""

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
"""A key that the issuer withdraws stays valid for this time."""
REFETCH_S: Final = 30
"""Least time between two fetches, even if tokens name unknown keys."""
AFTER_FAILURE_S: Final = 5
STALE_S: Final = 24 * 3600
"""While the issuer does not answer, its keys stay valid for this time."""


class IssuerKeys:
    def __init__(
        self,
        keys_url: Callable[[], Awaitable[str]],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._keys_url = keys_url
        self._clock = clock
        self._known: Sequence[Mapping[str, Any]] | None = None
        self._fetched_s = self._next_s = float("-inf")
        self._lock = asyncio.Lock()

    async def find(self, kid: str | None, algorithm: str) -> PyJWK | None:
        """Returns None if the issuer has no such key for this algorithm."""
        found = self._match(kid, algorithm)
        # One caller waits for fresh keys; meanwhile the others use the old ones.
        max_age_s = STALE_S if self._lock.locked() else FRESH_S
        if found is None or self._age_s() > max_age_s:
            await self._refresh()
            found = self._match(kid, algorithm)
        return found

    async def _refresh(self) -> None:
        # One caller fetches the keys; the others wait and then look again.
        async with self._lock:
            if self._clock() >= self._next_s:
                try:
                    document = await fetch_document(await self._keys_url())
                    self._known = signing_keys(document)
                    self._fetched_s = self._clock()
                    self._next_s = self._clock() + REFETCH_S
                except IssuerDown as fault:
                    # Counted from the failure: a request to an issuer that hangs takes longer
                    # than this pause, and every waiting caller would repeat it.
                    self._next_s = self._clock() + AFTER_FAILURE_S
                    log.warning("issuer.unavailable", error=str(fault))
            if self._age_s() > STALE_S:
                raise IssuerDown(
                    "The issuer's keys can't be fetched: try again in a few seconds."
                )

    def _age_s(self) -> float:
        return self._clock() - self._fetched_s

    def _match(self, kid: str | None, algorithm: str) -> PyJWK | None:
        fitting = [
            key
            for key in self._known or ()
            if (kid is None or key.get("kid") == kid) and key.get("alg", algorithm) == algorithm
        ]
        parsed = [each for key in fitting if (each := parse_key(key, algorithm)) is not None]
        # Without a key id, the key must be unambiguous.
        return parsed[0] if len(parsed) == 1 or (parsed and kid is not None) else None


def signing_keys(document: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    keys = document.get("keys")
    if not isinstance(keys, list):
        raise IssuerDown("The issuer's key document has no list of keys.")
    return [key for key in keys if isinstance(key, dict) and key.get("use", "sig") == "sig"]


def parse_key(key: Mapping[str, Any], algorithm: str) -> PyJWK | None:
    """Returns None if the key has another type than the algorithm needs."""
    try:
        return PyJWK(dict(key), algorithm)
    except PyJWTError:
        return None
