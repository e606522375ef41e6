"""Routes that call their endpoint without FastAPI's handling of parameters."""

from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match, Route
from starlette.types import Scope


class DirectRoute(Route):
    """Handles a request without FastAPI, whose own route for the path only documents it.

    FastAPI's handling of parameters and dependencies would take a fifth of the time of a
    submission.
    """

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        match, found = super().matches(scope)
        if match is not Match.NONE:
            found["route"] = self
        return match, found


class DirectGet(DirectRoute):
    """The same for GET; FastAPI's route handles requests with a query."""

    def __init__(self, path: str, endpoint: Callable[[Request], Awaitable[Response]]) -> None:
        super().__init__(path, endpoint, methods=["GET"])
        self.methods = {"GET"}  # Starlette adds HEAD, which FastAPI's route refuses

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        if scope["type"] == "http" and scope["query_string"]:
            return Match.NONE, {}
        return super().matches(scope)
