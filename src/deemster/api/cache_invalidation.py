"""Drops cached responses when a submission or a problem changes (C1)."""

from typing import Final

from deemster.cache.cache import Cache
from deemster.cache.single_flight import SingleFlightCache
from deemster.domain.ids import AccountId, SubmissionId
from deemster.store import problems
from deemster.store.pool import Pool, connection

KEPT_S: Final = 1.0
"""A change of a problem by another process is visible after this time."""


class CacheInvalidation:
    def __init__(self, cache: Cache, pool: Pool) -> None:
        self._cache = cache
        self._pool = pool
        self._problems: SingleFlightCache[None, int] = SingleFlightCache(
            self._read_problems_version, keep_s=KEPT_S
        )

    async def problems_version(self) -> int:
        """Grows whenever any problem changes."""
        return await self._problems.get(None)

    def forget_problems(self) -> None:
        """Call it after this process has changed a problem."""
        self._problems.forget(None)

    def forget_submission(self, submission: SubmissionId, account: AccountId) -> None:
        """Drops the submission's status and its owner's list."""
        self._cache.versions.bump(submission)
        self._cache.versions.bump(account)

    def forget_list(self, account: AccountId) -> None:
        """Call it after the account has submitted."""
        self._cache.versions.bump(account)

    def forget_submissions(self) -> None:
        """Call it after many submissions have changed at once."""
        self._cache.versions.bump_all()

    async def _read_problems_version(self, _: None) -> int:
        async with connection(self._pool) as acquired:
            return await problems.version(acquired)
