"""What every request of one app shares."""

from dataclasses import dataclass

from starlette.requests import Request

from deemster.api.admission import Admission
from deemster.api.auth.auth import Auth
from deemster.api.auth.guard import Guard
from deemster.api.crew import Crew
from deemster.api.feed.feed import Feed
from deemster.api.health import Health
from deemster.api.recall import Recall
from deemster.api.service import Service


@dataclass(frozen=True, slots=True)
class Desk:
    service: Service
    guard: Guard
    auth: Auth
    crew: Crew
    health: Health
    admission: Admission
    recall: Recall
    feed: Feed

    @classmethod
    def of(cls, service: Service) -> "Desk":
        crew = Crew(service)
        recall = Recall(service.cache, service.pool)
        feed = Feed(service.pool)
        feed.on_event(lambda touch: recall.forget_submission(touch.submission, touch.account))
        return cls(
            service=service,
            guard=Guard(service.pool, session_s=service.settings.session_hours * 3600),
            auth=Auth.of(service),
            crew=crew,
            health=Health(service),
            admission=Admission(service, crew),
            recall=recall,
            feed=feed,
        )


def desk_of(request: Request) -> Desk:
    desk: Desk = request.app.state.desk
    return desk
