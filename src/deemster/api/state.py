"""What every request of one app shares."""

from dataclasses import dataclass

from starlette.requests import Request

from deemster.api.admission import Admission
from deemster.api.auth.auth import Auth
from deemster.api.auth.credential_cache import CredentialCache
from deemster.api.cache_invalidation import CacheInvalidation
from deemster.api.dependencies import Dependencies
from deemster.api.feed.feed import Feed
from deemster.api.health import Health
from deemster.api.live_workers import LiveWorkers


@dataclass(frozen=True, slots=True)
class AppState:
    service: Dependencies
    guard: CredentialCache
    auth: Auth
    crew: LiveWorkers
    health: Health
    admission: Admission
    recall: CacheInvalidation
    feed: Feed

    @classmethod
    def of(cls, service: Dependencies) -> "AppState":
        crew = LiveWorkers(service)
        recall = CacheInvalidation(service.cache, service.pool)
        feed = Feed(service.pool)
        feed.on_event(lambda touch: recall.forget_submission(touch.submission, touch.account))
        return cls(
            service=service,
            guard=CredentialCache(
                service.pool, session_s=service.settings.session_hours * 3600
            ),
            auth=Auth.of(service),
            crew=crew,
            health=Health(service),
            admission=Admission(service, crew),
            recall=recall,
            feed=feed,
        )


def app_state(request: Request) -> AppState:
    desk: AppState = request.app.state.desk
    return desk
