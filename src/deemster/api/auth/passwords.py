"""Hashes passwords with argon2id, a limited number at a time, because each is slow."""

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

from deemster.api.auth.generated_passwords import is_generated, matches_generated
from deemster.domain.errors import Refused, Unavailable

MIN_CHARS: Final = 10
MAX_CHARS: Final = 1024
# The second recommended option of RFC 9106, in one thread: 0.2 s of one core per log-in.
MEMORY_KIB: Final = 64 * 1024
PASSES: Final = 3
HASHER: Final = PasswordHasher(time_cost=PASSES, memory_cost=MEMORY_KIB, parallelism=1)
AT_ONCE: Final = max(1, (os.cpu_count() or 1) // 2)
"""A flood of log-ins gets half of the cores at most."""
MAX_WAITING: Final = 32

T = TypeVar("T")


class TooManyLogIns(Unavailable):
    code: ClassVar[str] = "too_many_log_ins"


class Passwords:
    def __init__(
        self,
        hasher: PasswordHasher = HASHER,
        *,
        at_once: int = AT_ONCE,
        max_waiting: int = MAX_WAITING,
    ) -> None:
        self._hasher = hasher
        self._max_users = at_once + max_waiting
        self._users = 0
        self._turns = asyncio.Semaphore(at_once)
        # A thread goes on if its client leaves; this pool still bounds their number.
        self._threads = ThreadPoolExecutor(at_once, thread_name_prefix="password")
        self._dummy_hash = dummy_hash(hasher)

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Hold a turn while you hash or verify passwords."""
        if self._users >= self._max_users:
            raise TooManyLogIns(
                "Too many users log in at the same time: try again in a few seconds."
            )
        self._users += 1
        try:
            async with self._turns:
                yield
        finally:
            self._users -= 1

    async def verify(self, password: str, hashed: str | None) -> bool:
        """A wrong password takes as long for an unknown account, which has no hash, and for one
        with a generated password, whose hash is fast.
        """
        if hashed is not None and is_generated(hashed):
            if matches_generated(hashed, password):
                return True
            hashed = None
        return await self._in_thread(
            lambda: matches(self._hasher, hashed or self._dummy_hash, password)
        )

    async def hash(self, password: str) -> str:
        return await self._in_thread(lambda: self._hasher.hash(normalise(password)))

    def is_outdated(self, hashed: str) -> bool:
        """Whether the hash was made with other parameters than those of today."""
        return not is_generated(hashed) and self._hasher.check_needs_rehash(hashed)

    async def _in_thread(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)


def matches(hasher: PasswordHasher, hashed: str, password: str) -> bool:
    try:
        return hasher.verify(hashed, normalise(password))
    except (VerifyMismatchError, InvalidHashError):
        return False


def check_password(password: str) -> str:
    """Refuses a new password that is too short or too long."""
    chars = len(normalise(password))
    if chars < MIN_CHARS:
        raise Refused(
            f"A password needs at least {MIN_CHARS} characters: length makes it hard to "
            "guess, so use a few unrelated words."
        )
    if chars > MAX_CHARS:
        raise Refused(f"A password can have at most {MAX_CHARS:,} characters.")
    return password


def hash_password(password: str) -> str:
    """For commands, which hash one password."""
    return HASHER.hash(normalise(check_password(password)))


def normalise(password: str) -> str:
    """NFKC, because keyboards and systems encode the same letters differently."""
    return unicodedata.normalize("NFKC", password)


def dummy_hash(hasher: PasswordHasher) -> str:
    """A random hash that no password has, made without the work of hashing."""
    salt, digest = (
        b64encode(secrets.token_bytes(size)).rstrip(b"=").decode()
        for size in (hasher.salt_len, hasher.hash_len)
    )
    cost = f"m={hasher.memory_cost},t={hasher.time_cost},p={hasher.parallelism}"
    return f"$argon2id$v=19${cost}${salt}${digest}"
