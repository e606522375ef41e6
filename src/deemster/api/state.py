"""The objects that all requests of one app share."""

from dataclasses import dataclass

from starlette.requests import Request

from deemster.api.admission import Admission, LiveWorkers
from deemster.api.auth.auth import Auth
from deemster.api.auth.credential_cache import CredentialCache
from deemster.api.cache_invalidation import CacheInvalidation
from deemster.api.dependencies import Dependencies
from deemster.api.feed.feed import Feed
from deemster.api.health import Health
from deemster.cache.cache import Cache
from deemster.settings import Settings
from deemster.store.pool import Pool


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

    @classmethod
    def of(cls, dependencies: Dependencies) -> "AppState":
        live_workers = LiveWorkers(dependencies)
        invalidation = CacheInvalidation(dependencies.cache, dependencies.pool)
        feed = Feed(dependencies.pool)
        feed.on_event(
            lambda change: invalidation.forget_submission(change.submission, change.account)
        )
        return cls(
            dependencies=dependencies,
            credentials=CredentialCache(
                dependencies.pool, session_s=dependencies.settings.session_hours * 3600
            ),
            auth=Auth.of(dependencies),
            live_workers=live_workers,
            health=Health(dependencies),
            admission=Admission(dependencies, live_workers),
            cache_invalidation=invalidation,
            feed=feed,
        )

    @property
    def pool(self) -> Pool:
        return self.dependencies.pool

    @property
    def settings(self) -> Settings:
        return self.dependencies.settings

    @property
    def cache(self) -> Cache:
        return self.dependencies.cache


def app_state(request: Request) -> AppState:
    state: AppState = request.app.state.app_state
    return state
