"""The objects that the API makes for itself from its `Dependencies`, shared by all requests of
one app: caches, feeds, admission. Also how its caches are invalidated (C1)."""

from dataclasses import dataclass
from typing import Final

from starlette.requests import HTTPConnection

from deemster.api.admission import Admission, LiveWorkers, RateLimited
from deemster.api.auth.auth import Auth
from deemster.api.auth.credential_cache import CredentialCache
from deemster.api.dependencies import Dependencies
from deemster.api.executions import Executions
from deemster.api.feed.feed import Feed
from deemster.api.feed.host_tasks import HostTaskSignals
from deemster.api.feed.live_output import LiveOutputFeed
from deemster.api.health import Health
from deemster.api.metric_history import MetricHistory
from deemster.cache.cache import Cache
from deemster.cache.single_flight import SingleFlightCache
from deemster.cache.ttl import TtlCache
from deemster.domain.account import Account
from deemster.domain.ids import AccountId, WorkId
from deemster.settings import Settings
from deemster.store import problems
from deemster.store.events import ChangedWork
from deemster.store.judge_hosts import RegisteredHost
from deemster.store.pool import Pool, connection

RETRY_S: Final = 15.0
KEPT_S: Final = 1.0
"""A change of a problem by another process is visible after this time."""
HOST_KEPT_S: Final = 60.0
MAX_HOSTS: Final = 1000


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

    def forget_work(self, work: WorkId, account: AccountId) -> None:
        """Drops the status of a submission or execution, and its owner's list."""
        self.forget_status(work)
        self.forget_list(account)

    def forget_status(self, work: WorkId) -> None:
        """Drops the cached answer about a submission or execution."""
        self._cache.versions.bump(work)

    def forget_list(self, account: AccountId) -> None:
        """Call it after the account has submitted, or was told of a verdict."""
        self._cache.versions.bump(account)

    def forget_submissions(self) -> None:
        """Call it after many submissions have changed at once."""
        self._cache.versions.bump_all()

    async def _read_problems_version(self, _: None) -> int:
        async with connection(self._pool) as acquired:
            return await problems.version(acquired)


@dataclass(frozen=True, slots=True)
class AppState:
    dependencies: Dependencies
    credentials: CredentialCache
    auth: Auth
    live_workers: LiveWorkers
    health: Health
    admission: Admission
    cache_invalidation: CacheInvalidation
    feed: Feed
    executions: Executions
    live_output: LiveOutputFeed
    host_tasks: HostTaskSignals
    metric_history: MetricHistory
    seen_hosts: TtlCache[RegisteredHost]
    """Judge hosts by their ids. Each request compares them with the database once more."""

    @classmethod
    def of(cls, dependencies: Dependencies) -> "AppState":
        live_workers = LiveWorkers(dependencies)
        invalidation = CacheInvalidation(dependencies.cache, dependencies.pool)
        feed = Feed(dependencies.pool, dependencies.wait_for_events)
        live_output = LiveOutputFeed(dependencies.pool, dependencies.wait_for_output)

        def on_event(change: ChangedWork) -> None:
            invalidation.forget_work(change.work, change.account)
            live_output.wake(change.work)

        feed.on_event(on_event)
        feed.on_settled(invalidation.forget_status)
        admission = Admission(dependencies, live_workers)
        return cls(
            dependencies=dependencies,
            credentials=CredentialCache(
                dependencies.pool, session_s=dependencies.settings.session_hours * 3600
            ),
            auth=Auth.of(dependencies),
            live_workers=live_workers,
            health=Health(dependencies),
            admission=admission,
            cache_invalidation=invalidation,
            feed=feed,
            executions=Executions(
                dependencies.pool, dependencies.accept_executions, admission, feed
            ),
            live_output=live_output,
            host_tasks=HostTaskSignals(dependencies.wait_for_host_tasks),
            metric_history=MetricHistory(dependencies.pool),
            seen_hosts=TtlCache(keep_s=HOST_KEPT_S, max_entries=MAX_HOSTS),
        )

    def drain(self) -> None:
        """Ends all open streams, so that the process can end."""
        self.feed.drain()
        self.live_output.drain()
        self.host_tasks.drain()

    @property
    def pool(self) -> Pool:
        return self.dependencies.pool

    @property
    def settings(self) -> Settings:
        return self.dependencies.settings

    @property
    def cache(self) -> Cache:
        return self.dependencies.cache


def check_streams(state: AppState, caller: Account) -> None:
    """Refuses a stream beyond the most that one user may have in this process."""
    most = state.settings.streams_per_user
    if state.feed.streams[caller.id] >= most:
        raise RateLimited(
            f"You have {most} open event streams already: close one.", RETRY_S, limit=most
        )


def app_state(request: HTTPConnection) -> AppState:
    state: AppState = request.app.state.app_state
    return state
