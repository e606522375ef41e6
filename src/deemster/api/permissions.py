"""Who may do what: every route, the least role it needs, and the scope of its token (O6)."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from starlette.routing import BaseRoute, Route

from deemster.api.faults import Forbidden
from deemster.domain.account import Account, Role, Scope


@dataclass(frozen=True, slots=True)
class Need:
    role: Role
    scope: Scope


ANYONE: Final = None
"""Nobody is asked who they are."""
READS: Final = Need(Role.USER, Scope.READ)
SUBMITS: Final = Need(Role.USER, Scope.SUBMIT)
OWNS: Final = Need(Role.USER, Scope.ACCOUNT)
AUTHORS: Final = Need(Role.AUTHOR, Scope.PROBLEMS)
RUNS: Final = Need(Role.ADMIN, Scope.ADMIN)
WATCHES: Final = Need(Role.ADMIN, Scope.METRICS)

# What belongs to someone is shown to its owner and to admins; the routes see to that.
PERMISSIONS: Final[dict[tuple[str, str], Need | None]] = {
    ("GET", "/"): ANYONE,
    ("GET", "/docs"): ANYONE,
    ("GET", "/docs/oauth2-redirect"): ANYONE,
    ("GET", "/openapi.json"): ANYONE,
    ("GET", "/healthz"): ANYONE,
    ("GET", "/readyz"): ANYONE,
    ("GET", "/v1/problems"): READS,
    ("GET", "/v1/problems/{id}"): READS,
    ("GET", "/v1/languages"): READS,
    ("GET", "/v1/submissions"): READS,
    ("POST", "/v1/submissions"): SUBMITS,
    ("GET", "/v1/submissions/{id}"): READS,
    ("DELETE", "/v1/submissions/{id}"): SUBMITS,
    ("GET", "/v1/submissions/{id}/source"): READS,
    ("POST", "/v1/submissions/{id}/rejudge"): RUNS,
}


def check(caller: Account, need: Need) -> None:
    if not caller.role.includes(need.role):
        raise Forbidden(f"This needs the role {need.role}: ask an admin of this judge.")
    if need.scope not in caller.scopes:
        raise Forbidden(f"This token lacks the scope {need.scope}: use one that has it.")


def need_of(method: str, path: str) -> Need | None:
    """Of a route that the table has; any other is for nobody."""
    # What a route answers to HEAD is what it answers to GET.
    return PERMISSIONS[("GET" if method == "HEAD" else method, path)]


def check_table(routes: Iterable[BaseRoute]) -> None:
    """No route without a line, and no line without a route."""
    found = {
        (method, route.path)
        for route in routes
        if isinstance(route, Route)
        for method in (route.methods or set()) - {"HEAD"}
    }
    missing, spare = found - PERMISSIONS.keys(), PERMISSIONS.keys() - found
    assert not missing, f"routes that the table of permissions lacks: {sorted(missing)}"
    assert not spare, f"permissions of routes that don't exist: {sorted(spare)}"
