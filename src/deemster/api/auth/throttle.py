"""How often strangers may be wrong: unknown tokens, wrong passwords, new accounts (D2, O6)."""

import hashlib
from typing import Final

from starlette.requests import Request

from deemster.api.admission import a_minute, address_of, refuse
from deemster.api.dependencies import Dependencies
from deemster.limits.rate_limiter import Limit

GUESSES: Final = 10
"""Wrong passwords for one name from strange browsers, or from one that is known for it …"""
GUESS_EVERY_S: Final = 30
"""… and then one in so long, from wherever they come."""
LOG_INS: Final = 30
"""Right passwords for one name, one after another …"""
LOG_IN_EVERY_S: Final = 10
"""… and then one in so long: each takes a core for a while, and others wait for that."""
REASON: Final = "Too many log-ins"


class Throttle:
    def __init__(self, dependencies: Dependencies) -> None:
        self._rate_limiter = dependencies.rate_limiter
        self._a_minute = dependencies.settings.strangers_per_minute_ip

    async def count_stranger(self, request: Request) -> None:
        """Someone showed what is no good here."""
        limit = a_minute("stranger.ip", address_of(request), self._a_minute)
        taken = await self._rate_limiter.take([limit])
        refuse(taken, "Too many unknown tokens come from your address")

    async def check_address(self, request: Request) -> None:
        """Before anything is looked up for who guesses."""
        refuse(await self._rate_limiter.peek([self._address(request)]), REASON)

    async def check_guess(self, request: Request, name: str, device: str | None) -> None:
        """Before a password is looked at: who may not guess is not told if it was right."""
        limits = [self._address(request), guesses(name, device), log_ins(name)]
        refuse(await self._rate_limiter.peek(limits), REASON)

    async def count_guess(self, request: Request, name: str, device: str | None) -> None:
        await self._rate_limiter.take([self._address(request), guesses(name, device)])

    async def count_log_in(self, name: str) -> None:
        """Someone who may be here can still be one who keeps all others out."""
        await self._rate_limiter.take([log_ins(name)])

    async def sign_up(self, request: Request) -> None:
        limit = a_minute("sign-up.ip", address_of(request), self._a_minute)
        taken = await self._rate_limiter.take([limit])
        refuse(taken, "Too many accounts are made from your address")

    async def once(self, name: str, key: str, *, within_s: float) -> bool:
        """Whether this is its first use."""
        return (await self._rate_limiter.take([Limit(name, key, 1 / within_s, 1)])).ok

    def _address(self, request: Request) -> Limit:
        # Not that of tokens: a page left open, whose log-in is over, must lock nobody out.
        return a_minute("guess.ip", address_of(request), self._a_minute)


def guesses(name: str, device: str | None) -> Limit:
    """A known device has its own: else whoever guesses at a name would keep its owner out."""
    if device is not None:
        return Limit("guess.device", key_of(device), 1 / GUESS_EVERY_S, GUESSES)
    return Limit("guess.name", key_of(name.lower()), 1 / GUESS_EVERY_S, GUESSES)


def log_ins(name: str) -> Limit:
    return Limit("log-in.name", key_of(name.lower()), 1 / LOG_IN_EVERY_S, LOG_INS)


def key_of(text: str) -> str:
    """Buckets may lie in Redis, where nobody's name belongs."""
    return hashlib.sha256(text.encode()).hexdigest()[:32]
