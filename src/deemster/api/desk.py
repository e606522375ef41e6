"""What every request of one app shares."""

from dataclasses import dataclass

from starlette.requests import Request

from deemster.api.admission import Admission
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
    admission: Admission

    @classmethod
    def of(cls, service: Service) -> "Desk":
        crew = Crew(service)
        return cls(
            service=service,
            guard=Guard(service.pool),
            crew=crew,
            health=Health(service),
            admission=Admission(service, crew),
        )


def desk_of(request: Request) -> Desk:
    desk: Desk = request.app.state.desk
    return desk
