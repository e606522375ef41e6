"""What the API remembers of its answers, and what makes it forget them (C1)."""

from typing import Final

from deemster.cache.cache import Cache
from deemster.cache.single_flight import SingleFlightCache
from deemster.domain.ids import AccountId, SubmissionId
from deemster.store import problems
from deemster.store.pool import Pool, connection

KEPT_S: Final = 1.0
"""What another process changes of a problem is seen after so long."""


class CacheInvalidation:
    def __init__(self, cache: Cache, pool: Pool) -> None:
        self._cache = cache
        self._pool = pool
        self._problems: SingleFlightCache[None, int] = SingleFlightCache(
            self._look, keep_s=KEPT_S
        )

    async def problems(self) -> int:
        """The revision of all problems together."""
        return await self._problems.get(None)

    def forget_problems(self) -> None:
        """For who changed one in this process: the next to ask sees it."""
        self._problems.forget(None)

    def forget_submission(self, submission: SubmissionId, account: AccountId) -> None:
        """It changed: its status, and its owner's list."""
        self._cache.versions.bump(submission)
        self._cache.versions.bump(account)

    def forget_list(self, account: AccountId) -> None:
        """There is one more in it."""
        self._cache.versions.bump(account)

    def forget_submissions(self) -> None:
        """Many changed at once."""
        self._cache.versions.bump_all()

    async def _look(self, _: None) -> int:
        async with connection(self._pool) as acquired:
            return await problems.version(acquired)
