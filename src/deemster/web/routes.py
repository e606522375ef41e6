"""All routes of the pages, which `wiring` adds to those of the API."""

from typing import Final

from starlette.routing import Match, Route
from starlette.types import Scope

from deemster.api.http.direct_route import DirectRoute
from deemster.web.pages import (
    accounts,
    admin,
    comparison,
    languages,
    problems,
    profile,
    submissions,
    welcome,
)
from deemster.web.static_files import PATH, show_static_file


class HomeRoute(DirectRoute):
    """`/` for browsers; programs get the JSON of the API there."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        accept = dict(scope.get("headers", ())).get(b"accept", b"")
        return super().matches(scope) if b"text/html" in accept else (Match.NONE, {})


ROUTES: Final[list[Route]] = [
    HomeRoute("/", problems.go_home, methods=["GET"]),
    DirectRoute(PATH, show_static_file, methods=["GET"]),
    *accounts.ROUTES,
    *welcome.ROUTES,
    *profile.ROUTES,
    *problems.ROUTES,
    *languages.ROUTES,
    *admin.ROUTES,
    *comparison.ROUTES,
    *submissions.ROUTES,
]
