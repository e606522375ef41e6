"""The table of permissions: the role and the token scope that each route needs (O6)."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from starlette.routing import BaseRoute, Route

from deemster.api.http.errors import Forbidden
from deemster.domain.account import Account, Role, Scope


@dataclass(frozen=True, slots=True)
class Permission:
    role: Role
    scope: Scope


@dataclass(frozen=True, slots=True)
class HostPermission:
    """The route needs the signature of a judge host, and accepts no other credentials (M1)."""


Need = Permission | HostPermission | None
PUBLIC: Final = None
"""The route needs no credentials."""
HOST: Final = HostPermission()
READ: Final = Permission(Role.USER, Scope.READ)
SUBMIT: Final = Permission(Role.USER, Scope.SUBMIT)
ACCOUNT: Final = Permission(Role.USER, Scope.ACCOUNT)
PROBLEMS: Final = Permission(Role.AUTHOR, Scope.PROBLEMS)
ADMIN: Final = Permission(Role.ADMIN, Scope.ADMIN)
METRICS: Final = Permission(Role.ADMIN, Scope.METRICS)

# The routes themselves show an object only to its owner and to admins.
PERMISSIONS: Final[dict[tuple[str, str], Need]] = {
    ("GET", "/"): PUBLIC,
    ("GET", "/docs"): PUBLIC,
    ("GET", "/docs/{name}"): PUBLIC,
    ("GET", "/openapi.json"): PUBLIC,
    ("GET", "/healthz"): PUBLIC,
    ("GET", "/readyz"): PUBLIC,
    ("GET", "/metrics"): METRICS,
    ("POST", "/v1/session"): PUBLIC,
    ("POST", "/v1/session/link"): PUBLIC,
    ("GET", "/v1/session"): READ,
    ("DELETE", "/v1/session"): ACCOUNT,
    ("POST", "/v1/accounts"): PUBLIC,
    ("PUT", "/v1/account/password"): ACCOUNT,
    ("GET", "/v1/tokens"): ACCOUNT,
    ("POST", "/v1/tokens"): ACCOUNT,
    ("DELETE", "/v1/tokens/{id}"): ACCOUNT,
    ("GET", "/v1/oidc/login"): PUBLIC,
    ("GET", "/v1/oidc/callback"): PUBLIC,
    ("GET", "/v1/admin/users"): ADMIN,
    ("POST", "/v1/admin/users"): ADMIN,
    ("POST", "/v1/admin/users/import"): ADMIN,
    ("GET", "/v1/admin/users/{id}"): ADMIN,
    ("PATCH", "/v1/admin/users/{id}"): ADMIN,
    ("GET", "/v1/admin/users/{id}/tokens"): ADMIN,
    ("POST", "/v1/admin/users/{id}/tokens"): ADMIN,
    ("DELETE", "/v1/admin/users/{id}/tokens/{token}"): ADMIN,
    ("GET", "/v1/admin/users/{id}/heng-keys"): ADMIN,
    ("POST", "/v1/admin/users/{id}/heng-keys"): ADMIN,
    ("DELETE", "/v1/admin/users/{id}/heng-keys/{key}"): ADMIN,
    ("GET", "/v1/problems"): READ,
    ("GET", "/v1/problems/{id}"): READ,
    ("GET", "/v1/problems/{id}/files/{name}"): READ,
    ("GET", "/v1/problems/{id}/samples"): READ,
    ("POST", "/v1/problems"): PROBLEMS,
    ("PUT", "/v1/problems/{id}"): PROBLEMS,
    ("DELETE", "/v1/problems/{id}"): PROBLEMS,
    ("POST", "/v1/problems/{id}/publish"): PROBLEMS,
    ("GET", "/v1/problems/{id}/package"): PROBLEMS,
    ("POST", "/v1/problems/{id}/verification"): PROBLEMS,
    ("GET", "/v1/problems/{id}/verification"): PROBLEMS,
    ("GET", "/v1/problems/{id}/stages"): PROBLEMS,
    ("PUT", "/v1/problems/{id}/stages"): PROBLEMS,
    ("GET", "/v1/problems/{id}/scores"): PROBLEMS,
    ("GET", "/v1/languages"): READ,
    ("POST", "/v1/executions"): SUBMIT,
    ("POST", "/v1/executions/batch"): SUBMIT,
    ("GET", "/v1/executions"): READ,
    ("GET", "/v1/executions/{id}"): READ,
    ("DELETE", "/v1/executions/{id}"): SUBMIT,
    ("GET", "/v1/executions/{id}/analysis"): READ,
    ("POST", "/v1/executions/{id}/analysis"): SUBMIT,
    ("GET", "/v1/executions/{id}/events"): READ,
    ("POST", "/v1/executions/{id}/input"): SUBMIT,
    ("GET", "/v1/executions/{id}/recording"): READ,
    ("POST", "/v1/code-sessions"): SUBMIT,
    ("GET", "/v1/code-sessions"): READ,
    ("GET", "/v1/code-sessions/{id}"): READ,
    ("PATCH", "/v1/code-sessions/{id}"): SUBMIT,
    ("DELETE", "/v1/code-sessions/{id}"): SUBMIT,
    ("POST", "/v1/code-sessions/{id}/run"): SUBMIT,
    ("GET", "/v1/code-sessions/{id}/versions"): READ,
    ("GET", "/v1/code-sessions/{id}/versions/{number}"): READ,
    ("POST", "/v1/code-sessions/{id}/versions/{number}/restore"): SUBMIT,
    ("GET", "/v1/code-sessions/{id}/diff"): READ,
    ("GET", "/v1/submissions"): READ,
    ("POST", "/v1/submissions"): SUBMIT,
    ("GET", "/v1/submissions/{id}"): READ,
    ("DELETE", "/v1/submissions/{id}"): SUBMIT,
    ("GET", "/v1/submissions/{id}/source"): READ,
    ("GET", "/v1/submissions/{id}/judgement"): PROBLEMS,
    ("GET", "/v1/submissions/{id}/analysis"): READ,
    ("GET", "/v1/submissions/{id}/similar"): ADMIN,
    ("GET", "/v1/problems/{id}/similarity"): ADMIN,
    ("GET", "/v1/problems/{id}/similarity/dolos"): ADMIN,
    ("POST", "/v1/submissions/{id}/rejudge"): ADMIN,
    ("GET", "/v1/submissions/{id}/events"): READ,
    ("GET", "/v1/events"): READ,
    ("GET", "/v1/contests/{id}/events"): READ,
    ("GET", "/v1/contests"): READ,
    ("POST", "/v1/contests"): ADMIN,
    ("GET", "/v1/contests/{id}"): READ,
    ("PUT", "/v1/contests/{id}"): ADMIN,
    ("GET", "/v1/admin/queues"): ADMIN,
    ("GET", "/v1/admin/queues/{name}/jobs"): ADMIN,
    ("GET", "/v1/admin/dead-letters"): ADMIN,
    ("GET", "/v1/admin/dead-letters/{number}"): ADMIN,
    ("POST", "/v1/admin/dead-letters/{number}/requeue"): ADMIN,
    ("POST", "/v1/admin/dead-letters/{number}/discard"): ADMIN,
    ("GET", "/v1/admin/workers"): ADMIN,
    ("POST", "/v1/admin/workers/{id}/drain"): ADMIN,
    ("POST", "/v1/admin/workers/{id}/resume"): ADMIN,
    ("GET", "/v1/admin/judge-hosts"): ADMIN,
    ("GET", "/v1/admin/judge-hosts/{id}/verdicts"): ADMIN,
    ("POST", "/v1/admin/judge-hosts"): ADMIN,
    ("POST", "/v1/admin/judge-hosts/{id}/pause"): ADMIN,
    ("POST", "/v1/admin/judge-hosts/{id}/resume"): ADMIN,
    ("POST", "/v1/admin/judge-hosts/{id}/revoke"): ADMIN,
    ("POST", "/v1/admin/judge-hosts/{id}/rotate"): ADMIN,
    ("POST", "/v1/admin/judge-hosts/{id}/drain"): ADMIN,
    ("POST", "/v1/judgehost/register"): HOST,
    ("POST", "/v1/judgehost/heartbeat"): HOST,
    ("POST", "/v1/judgehost/leave"): HOST,
    ("POST", "/v1/judgehost/tasks"): HOST,
    ("POST", "/v1/judgehost/callbacks/{work}/{judge}/update"): HOST,
    ("POST", "/v1/judgehost/callbacks/{work}/{judge}/finish"): HOST,
    ("GET", "/v1/judgehost/data/{digest}"): HOST,
    ("GET", "/v1/admin/audit"): ADMIN,
    ("GET", "/v1/admin/rejudgings"): ADMIN,
    ("POST", "/v1/admin/rejudgings"): ADMIN,
    ("GET", "/v1/admin/rejudgings/{id}"): ADMIN,
    ("GET", "/v1/admin/rejudgings/{id}/changes"): ADMIN,
    ("POST", "/v1/admin/rejudgings/{id}/apply"): ADMIN,
    ("POST", "/v1/admin/rejudgings/{id}/drop"): ADMIN,
    ("GET", "/v1/submissions/{id}/evaluation"): READ,
    ("POST", "/v1/submissions/{id}/evaluation/corrections"): PROBLEMS,
    ("GET", "/v1/admin/rubrics"): ADMIN,
    ("POST", "/v1/admin/rubrics"): ADMIN,
    ("GET", "/v1/admin/rubrics/{id}"): ADMIN,
    ("DELETE", "/v1/admin/rubrics/{id}"): ADMIN,
    ("GET", "/v1/admin/evaluation/tiers"): ADMIN,
    ("PUT", "/v1/admin/evaluation/tiers"): ADMIN,
    ("GET", "/v1/admin/evaluation/budgets"): ADMIN,
    ("PUT", "/v1/admin/evaluation/budgets"): ADMIN,
    ("GET", "/v1/admin/evaluation/spend"): ADMIN,
    ("GET", "/v1/submissions/{id}/webhooks"): READ,
    ("GET", "/v1/webhooks"): READ,
    ("GET", "/v1/webhooks/{id}"): READ,
    ("POST", "/v1/webhooks/{id}/resend"): SUBMIT,
    ("GET", "/v1/webhook-secret"): ACCOUNT,
    ("POST", "/v1/webhook-secret/rotate"): ACCOUNT,
}

PAGE_PERMISSIONS: Final[dict[tuple[str, str], Need]] = {
    ("GET", "/static/{name}"): PUBLIC,
    ("GET", "/login"): PUBLIC,
    ("POST", "/login"): PUBLIC,
    ("POST", "/logout"): ACCOUNT,
    ("GET", "/signup"): PUBLIC,
    ("POST", "/signup"): PUBLIC,
    ("GET", "/log-in/{code}"): PUBLIC,
    ("POST", "/log-in/{code}"): PUBLIC,
    ("GET", "/welcome"): ACCOUNT,
    ("POST", "/welcome"): ACCOUNT,
    ("GET", "/account"): ACCOUNT,
    ("POST", "/account/password"): ACCOUNT,
    ("POST", "/account/display"): ACCOUNT,
    ("POST", "/account/log-out-others"): ACCOUNT,
    ("GET", "/account/tokens"): ACCOUNT,
    ("POST", "/account/tokens"): ACCOUNT,
    ("POST", "/account/tokens/{id}/revoke"): ACCOUNT,
    ("POST", "/language"): PUBLIC,
    ("GET", "/admin"): ADMIN,
    ("GET", "/admin/queues/{name}"): ADMIN,
    ("GET", "/admin/workers"): ADMIN,
    ("POST", "/admin/workers/{id}/drain"): ADMIN,
    ("POST", "/admin/workers/{id}/resume"): ADMIN,
    ("POST", "/admin/judge-hosts/{id}/drain"): ADMIN,
    ("POST", "/admin/judge-hosts/{id}/pause"): ADMIN,
    ("POST", "/admin/judge-hosts/{id}/resume"): ADMIN,
    ("POST", "/admin/judge-hosts/{id}/revoke"): ADMIN,
    ("GET", "/admin/dead-letters"): ADMIN,
    ("GET", "/admin/dead-letters/{number}"): ADMIN,
    ("POST", "/admin/dead-letters/{number}/requeue"): ADMIN,
    ("POST", "/admin/dead-letters/{number}/discard"): ADMIN,
    ("GET", "/admin/submissions"): ADMIN,
    ("GET", "/admin/submissions/{id}"): PROBLEMS,
    ("POST", "/admin/submissions/{id}/rejudge"): ADMIN,
    ("GET", "/admin/rejudgings"): ADMIN,
    ("POST", "/admin/rejudgings"): ADMIN,
    ("GET", "/admin/rejudgings/{id}"): ADMIN,
    ("POST", "/admin/rejudgings/{id}/apply"): ADMIN,
    ("POST", "/admin/rejudgings/{id}/drop"): ADMIN,
    ("GET", "/admin/problems"): PROBLEMS,
    ("POST", "/admin/problems"): PROBLEMS,
    ("POST", "/admin/problems/{id}/publish"): PROBLEMS,
    ("POST", "/admin/problems/{id}/retire"): PROBLEMS,
    ("GET", "/admin/problems/{id}/verification"): PROBLEMS,
    ("POST", "/admin/problems/{id}/verification"): PROBLEMS,
    ("GET", "/admin/problems/{id}/package"): PROBLEMS,
    ("GET", "/admin/users"): ADMIN,
    ("POST", "/admin/users"): ADMIN,
    ("GET", "/admin/users/{id}"): ADMIN,
    ("POST", "/admin/users/{id}"): ADMIN,
    ("POST", "/admin/users/{id}/disabled"): ADMIN,
    ("POST", "/admin/users/{id}/link"): ADMIN,
    ("POST", "/admin/users/{id}/tokens"): ADMIN,
    ("POST", "/admin/users/{id}/tokens/{token}/revoke"): ADMIN,
    ("GET", "/admin/user-import"): ADMIN,
    ("POST", "/admin/user-import"): ADMIN,
    ("GET", "/admin/webhooks"): ADMIN,
    ("GET", "/admin/webhooks/{id}"): ADMIN,
    ("POST", "/admin/webhooks/{id}/resend"): ADMIN,
    ("GET", "/admin/audit"): ADMIN,
    ("GET", "/admin/settings"): ADMIN,
    ("GET", "/problems"): READ,
    ("GET", "/problems/{id}"): READ,
    ("POST", "/problems/{id}"): SUBMIT,
    ("POST", "/problems/{id}/file"): SUBMIT,
    ("GET", "/submissions"): READ,
    ("GET", "/submissions/compare"): READ,
    ("GET", "/submissions/{id}"): READ,
    ("GET", "/languages"): PUBLIC,
    ("GET", "/verdicts"): PUBLIC,
    ("GET", "/verdicts/{slug}"): PUBLIC,
}
"""Pages, which people see after a log-in; tokens are not accepted there."""
PISTON_PREFIXES: Final = ("/api/v2", "/api/v2/piston")
JOBE_PREFIX: Final = "/jobe/index.php/restapi"
JOBE_ROOT: Final = "/jobe"
JUDGE0_PREFIXES: Final = ("/judge0", "/judge0/ce", "/judge0/extra")
OTHER_PATHS: Final = "/{path:path}"
"""Below a compatible API: its clients get errors in its own shape there, too."""
METHODS: Final = ("DELETE", "GET", "PATCH", "POST", "PUT")
MCP_PATH: Final = "/mcp"
HENG_ROOT: Final = "/c"
HENG_JUDGES: Final = HENG_ROOT + "/v1/judges"

COMPAT_PERMISSIONS: Final[dict[str, dict[tuple[str, str], Permission | None]]] = {
    "judge0": {
        **{(method, JUDGE0_PREFIXES[0] + OTHER_PATHS): PUBLIC for method in METHODS},
        **{
            (method, prefix + path): permission
            for prefix in JUDGE0_PREFIXES
            for (method, path), permission in {
                ("POST", "/submissions"): SUBMIT,
                ("GET", "/submissions"): ADMIN,
                ("POST", "/submissions/batch"): SUBMIT,
                ("GET", "/submissions/batch"): READ,
                ("GET", "/submissions/{token}"): READ,
                ("DELETE", "/submissions/{token}"): ADMIN,
                ("GET", "/languages"): READ,
                ("GET", "/languages/all"): READ,
                ("GET", "/languages/{id}"): READ,
                ("GET", "/statuses"): READ,
                ("GET", "/config_info"): READ,
                ("GET", "/system_info"): READ,
                ("GET", "/statistics"): READ,
                ("GET", "/workers"): READ,
                ("GET", "/about"): PUBLIC,
                ("GET", "/version"): PUBLIC,
                ("GET", "/isolate"): PUBLIC,
                ("GET", "/license"): PUBLIC,
                ("POST", "/authenticate"): READ,
                ("POST", "/authorize"): ADMIN,
            }.items()
        },
    },
    "piston": {
        **{
            (method, prefix + path + slash): permission
            for prefix in PISTON_PREFIXES
            for slash in ("", "/")
            for (method, path), permission in {
                ("GET", "/runtimes"): READ,
                ("POST", "/execute"): SUBMIT,
                ("GET", "/packages"): READ,
                ("POST", "/packages"): SUBMIT,
                ("DELETE", "/packages"): SUBMIT,
            }.items()
        },
        **{(method, PISTON_PREFIXES[0] + OTHER_PATHS): PUBLIC for method in METHODS},
    },
    "jobe": {
        ("GET", JOBE_PREFIX + "/languages"): READ,
        ("POST", JOBE_PREFIX + "/runs"): SUBMIT,
        ("GET", JOBE_PREFIX + "/files/{id}"): SUBMIT,
        ("PUT", JOBE_PREFIX + "/files/{id}"): SUBMIT,
        **{(method, JOBE_ROOT + OTHER_PATHS): PUBLIC for method in METHODS},
    },
    "sandboxfusion": {("POST", "/run_code"): SUBMIT},
    "heng": {
        ("POST", HENG_JUDGES): PUBLIC,
        **{(method, HENG_ROOT + OTHER_PATHS): PUBLIC for method in METHODS},
    },
    # The tools that create something check that the token may submit.
    "mcp": {("POST", MCP_PATH): READ},
}
"""Routes of the compatible APIs, by the name in the setting `compat`."""
SIGNED_ROUTES: Final = frozenset({("POST", HENG_JUDGES)})
"""The signature of a request takes the place of a token, which these routes do not need."""
ALL_PERMISSIONS: Final[dict[tuple[str, str], Need]] = {
    **PERMISSIONS,
    **PAGE_PERMISSIONS,
    **{route: need for each in COMPAT_PERMISSIONS.values() for route, need in each.items()},
}


def check_permission(caller: Account, permission: Permission) -> None:
    if not caller.role.includes(permission.role):
        raise Forbidden(f"This needs the role {permission.role}: ask an admin of this judge.")
    if permission.scope not in caller.scopes:
        raise Forbidden(f"This token lacks the scope {permission.scope}: use one that has it.")


def is_permitted(caller: Account, permission: Permission) -> bool:
    return caller.role.includes(permission.role) and permission.scope in caller.scopes


def permission_of(method: str, path: str) -> Need:
    """Returns None for a public route; raises KeyError for a route that is not in the table."""
    return ALL_PERMISSIONS[("GET" if method == "HEAD" else method, path)]


def expected_routes(compat: Iterable[str], *, pages: bool = False) -> set[tuple[str, str]]:
    """Methods and paths of an app that offers these compatible APIs."""
    return {
        *PERMISSIONS,
        *(PAGE_PERMISSIONS if pages else ()),
        *(route for name in compat for route in COMPAT_PERMISSIONS[name]),
    }


def check_table(
    routes: Iterable[BaseRoute], compat: Iterable[str], *, pages: bool = False
) -> None:
    """Requires one line for each route, and one route for each line."""
    found = {
        (method, route.path)
        for route in routes
        if isinstance(route, Route)
        for method in (route.methods or set()) - {"HEAD"}
    }
    expected = expected_routes(compat, pages=pages)
    missing, spare = found - expected, expected - found
    assert not missing, f"routes without a permission: {sorted(missing)}"
    assert not spare, f"permissions without a route: {sorted(spare)}"
