"""What every request of one app shares."""

from dataclasses import dataclass

from starlette.requests import Request

from deemster.api.crew import Crew
from deemster.api.guard import Guard
from deemster.api.health import Health
from deemster.api.service import Service


@dataclass(frozen=True, slots=True)
class Desk:
    service: Service
    guard: Guard
    crew: Crew
    health: Health

    @classmethod
    def of(cls, service: Service) -> "Desk":
        return cls(service, Guard(service.pool), Crew(service), Health(service))


def desk_of(request: Request) -> Desk:
    desk: Desk = request.app.state.desk
    return desk
