"""Limits unknown tokens, wrong passwords, log-ins and sign-ups (D2, O6)."""

import hashlib
from typing import Final

from starlette.requests import HTTPConnection

from deemster.api.admission import network_address, per_minute, refuse
from deemster.api.dependencies import Dependencies
from deemster.limits.rate_limiter import Limit

GUESSES: Final = 10
"""Wrong passwords in a row for one name, or from one known browser."""
GUESS_EVERY_S: Final = 30
"""After these, one wrong password is allowed per interval, from any address."""
LOG_INS: Final = 30
"""Correct log-ins in a row for one name."""
LOG_IN_EVERY_S: Final = 10
"""After these, one log-in is allowed per interval: each occupies a core for a while."""
REASON: Final = "Too many log-ins"


class Throttle:
    def __init__(self, dependencies: Dependencies) -> None:
        self._rate_limiter = dependencies.rate_limiter
        self._per_minute = dependencies.settings.refused_logins_per_minute_ip

    async def count_unknown_credentials(self, request: HTTPConnection) -> None:
        limit = per_minute("stranger.ip", network_address(request), self._per_minute)
        decision = await self._rate_limiter.take([limit])
        refuse(decision, "Too many unknown tokens come from your address")

    async def count_refused_host(self, request: HTTPConnection) -> None:
        """Apart from unknown tokens: a judge host whose clock is wrong must not lock out users
        behind the same address.
        """
        limit = per_minute("host.ip", network_address(request), self._per_minute)
        decision = await self._rate_limiter.take([limit])
        refuse(decision, "Too many refused requests of judge hosts come from your address")

    async def check_address(self, request: HTTPConnection) -> None:
        """Call it before the account is looked up."""
        refuse(await self._rate_limiter.peek([self._address(request)]), REASON)

    async def check_guess(self, request: HTTPConnection, name: str, device: str | None) -> None:
        """Call it before a password is verified, so that a refusal reveals nothing about it."""
        limits = [self._address(request), guess_limit(name, device), log_in_limit(name)]
        refuse(await self._rate_limiter.peek(limits), REASON)

    async def count_guess(self, request: HTTPConnection, name: str, device: str | None) -> None:
        await self._rate_limiter.take([self._address(request), guess_limit(name, device)])

    async def count_log_in(self, name: str) -> None:
        """Counts correct passwords too: an account could use them to occupy all cores."""
        await self._rate_limiter.take([log_in_limit(name)])

    async def count_sign_up(self, request: HTTPConnection) -> None:
        limit = per_minute("sign-up.ip", network_address(request), self._per_minute)
        decision = await self._rate_limiter.take([limit])
        refuse(decision, "Too many accounts are created from your address")

    async def is_first_use(self, name: str, key: str, *, within_s: float) -> bool:
        return (await self._rate_limiter.take([Limit(name, key, 1 / within_s, 1)])).ok

    def _address(self, request: HTTPConnection) -> Limit:
        # Apart from unknown tokens: an open page with an expired session must not lock out its
        # user.
        return per_minute("guess.ip", network_address(request), self._per_minute)


def guess_limit(name: str, device: str | None) -> Limit:
    """A known device has its own limit, so that guesses of others don't lock out its owner."""
    if device is not None:
        return Limit("guess.device", hashed(device), 1 / GUESS_EVERY_S, GUESSES)
    return Limit("guess.name", hashed(name.lower()), 1 / GUESS_EVERY_S, GUESSES)


def log_in_limit(name: str) -> Limit:
    return Limit("log-in.name", hashed(name.lower()), 1 / LOG_IN_EVERY_S, LOG_INS)


def hashed(text: str) -> str:
    """Rate limits may be stored in Redis, which must not get names of accounts."""
    return hashlib.sha256(text.encode()).hexdigest()[:32]
