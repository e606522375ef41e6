"""Passwords as argon2id hashes: slow on purpose, and never many at once."""

import asyncio
import os
import secrets
import unicodedata
from base64 import b64encode
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import ClassVar, Final, TypeVar

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerifyMismatchError

from deemster.domain.errors import Refused, Unavailable

LEAST_LETTERS: Final = 10
MOST_LETTERS: Final = 1024
# RFC 9106's second choice, in one thread: a log-in takes one core for a fifth of a second.
MEMORY_KIB: Final = 64 * 1024
PASSES: Final = 3
HASHER: Final = PasswordHasher(time_cost=PASSES, memory_cost=MEMORY_KIB, parallelism=1)
AT_ONCE: Final = max(1, (os.cpu_count() or 1) // 2)
"""Half of the cores, and so much memory, are all that a flood of log-ins gets."""
MOST_WAITING: Final = 32

T = TypeVar("T")


class TooManyLogIns(Unavailable):
    """More log in at once than is good for those who are in."""

    code: ClassVar[str] = "too_many_log_ins"


class Passwords:
    def __init__(
        self,
        hasher: PasswordHasher = HASHER,
        *,
        at_once: int = AT_ONCE,
        most_waiting: int = MOST_WAITING,
    ) -> None:
        self._hasher = hasher
        self._most = at_once + most_waiting
        self._here = 0
        self._turns = asyncio.Semaphore(at_once)
        # Who goes away leaves a thread that works on; by its own pool it still counts.
        self._threads = ThreadPoolExecutor(at_once, thread_name_prefix="password")
        self._nobodys = hash_of_nobody(hasher)

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """All that hashes is done within one."""
        if self._here >= self._most:
            raise TooManyLogIns("Too many people log in just now: try again in a few seconds.")
        self._here += 1
        try:
            async with self._turns:
                yield
        finally:
            self._here -= 1

    async def fits(self, password: str, hashed: str | None) -> bool:
        """None: nobody has it, which takes as long to find out."""
        return await self._apart(
            lambda: verify(self._hasher, hashed or self._nobodys, password)
        )

    async def hash(self, password: str) -> str:
        return await self._apart(lambda: self._hasher.hash(normal(password)))

    def is_outdated(self, hashed: str) -> bool:
        """Made with other parameters than are used now."""
        return self._hasher.check_needs_rehash(hashed)

    async def _apart(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)


def verify(hasher: PasswordHasher, hashed: str, password: str) -> bool:
    try:
        return hasher.verify(hashed, normal(password))
    except (VerifyMismatchError, InvalidHashError):
        return False


def check_password(password: str) -> str:
    """Before it becomes one's password."""
    letters = len(normal(password))
    if letters < LEAST_LETTERS:
        raise Refused(
            f"A password has at least {LEAST_LETTERS} characters: length makes it hard to "
            "guess, so take a few words that don't belong together."
        )
    if letters > MOST_LETTERS:
        raise Refused(f"A password has at most {MOST_LETTERS:,} characters: take fewer.")
    return password


def hash_password(password: str) -> str:
    """For commands, which have no others to think of."""
    return HASHER.hash(normal(check_password(password)))


def normal(password: str) -> str:
    """NFKC: the same letters from another keyboard or system are the same password."""
    return unicodedata.normalize("NFKC", password)


def hash_of_nobody(hasher: PasswordHasher) -> str:
    """As it would look like, made without the work: no password has it."""
    salt, digest = (
        b64encode(secrets.token_bytes(size)).rstrip(b"=").decode()
        for size in (hasher.salt_len, hasher.hash_len)
    )
    cost = f"m={hasher.memory_cost},t={hasher.time_cost},p={hasher.parallelism}"
    return f"$argon2id$v=19${cost}${salt}${digest}"
