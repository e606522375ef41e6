"""Who may do what: every route, the least role it needs, and the scope of its token (O6)."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from starlette.routing import BaseRoute, Route

from deemster.api.http.errors import Forbidden
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
    ("GET", "/docs/{name}"): ANYONE,
    ("GET", "/openapi.json"): ANYONE,
    ("GET", "/healthz"): ANYONE,
    ("GET", "/readyz"): ANYONE,
    ("GET", "/metrics"): WATCHES,
    ("POST", "/v1/session"): ANYONE,
    ("GET", "/v1/session"): READS,
    ("DELETE", "/v1/session"): OWNS,
    ("POST", "/v1/accounts"): ANYONE,
    ("PUT", "/v1/account/password"): OWNS,
    ("GET", "/v1/tokens"): OWNS,
    ("POST", "/v1/tokens"): OWNS,
    ("DELETE", "/v1/tokens/{id}"): OWNS,
    ("GET", "/v1/oidc/login"): ANYONE,
    ("GET", "/v1/oidc/callback"): ANYONE,
    ("GET", "/v1/admin/users"): RUNS,
    ("POST", "/v1/admin/users"): RUNS,
    ("GET", "/v1/admin/users/{id}"): RUNS,
    ("PATCH", "/v1/admin/users/{id}"): RUNS,
    ("GET", "/v1/admin/users/{id}/tokens"): RUNS,
    ("POST", "/v1/admin/users/{id}/tokens"): RUNS,
    ("DELETE", "/v1/admin/users/{id}/tokens/{token}"): RUNS,
    ("GET", "/v1/problems"): READS,
    ("GET", "/v1/problems/{id}"): READS,
    ("POST", "/v1/problems"): AUTHORS,
    ("PUT", "/v1/problems/{id}"): AUTHORS,
    ("DELETE", "/v1/problems/{id}"): AUTHORS,
    ("GET", "/v1/languages"): READS,
    ("GET", "/v1/submissions"): READS,
    ("POST", "/v1/submissions"): SUBMITS,
    ("GET", "/v1/submissions/{id}"): READS,
    ("DELETE", "/v1/submissions/{id}"): SUBMITS,
    ("GET", "/v1/submissions/{id}/source"): READS,
    ("POST", "/v1/submissions/{id}/rejudge"): RUNS,
    ("GET", "/v1/submissions/{id}/events"): READS,
    ("GET", "/v1/events"): READS,
    ("GET", "/v1/contests/{id}/events"): READS,
    ("GET", "/v1/contests"): READS,
    ("POST", "/v1/contests"): RUNS,
    ("GET", "/v1/contests/{id}"): READS,
    ("PUT", "/v1/contests/{id}"): RUNS,
    ("GET", "/v1/admin/queues"): RUNS,
    ("GET", "/v1/admin/queues/{name}/jobs"): RUNS,
    ("GET", "/v1/admin/dead-letters"): RUNS,
    ("GET", "/v1/admin/dead-letters/{number}"): RUNS,
    ("POST", "/v1/admin/dead-letters/{number}/requeue"): RUNS,
    ("POST", "/v1/admin/dead-letters/{number}/discard"): RUNS,
    ("GET", "/v1/admin/workers"): RUNS,
    ("POST", "/v1/admin/workers/{id}/drain"): RUNS,
    ("POST", "/v1/admin/workers/{id}/resume"): RUNS,
    ("GET", "/v1/admin/audit"): RUNS,
    ("GET", "/v1/admin/rejudgings"): RUNS,
    ("POST", "/v1/admin/rejudgings"): RUNS,
    ("GET", "/v1/admin/rejudgings/{id}"): RUNS,
    ("GET", "/v1/admin/rejudgings/{id}/changes"): RUNS,
    ("POST", "/v1/admin/rejudgings/{id}/apply"): RUNS,
    ("POST", "/v1/admin/rejudgings/{id}/drop"): RUNS,
    ("GET", "/v1/submissions/{id}/webhooks"): READS,
    ("GET", "/v1/webhooks"): READS,
    ("GET", "/v1/webhooks/{id}"): READS,
    ("POST", "/v1/webhooks/{id}/resend"): SUBMITS,
    ("GET", "/v1/webhook-secret"): OWNS,
    ("POST", "/v1/webhook-secret/rotate"): OWNS,
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
