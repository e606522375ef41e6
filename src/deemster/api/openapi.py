"""Completes FastAPI's OpenAPI document for routes that FastAPI does not fully handle."""

from typing import Any, Final

from fastapi import FastAPI
from pydantic.json_schema import models_json_schema

from deemster.api.auth.cookies import CSRF_HEADER, SESSION
from deemster.api.authentication import BEARER
from deemster.api.http.errors import ProblemDetails, errors
from deemster.api.models.accounts import (
    LogIn,
    PasswordChange,
    SignUp,
    TokenIn,
    UserIn,
    UserPatch,
)
from deemster.api.models.code_sessions import CodeSessionIn, CodeSessionPatch
from deemster.api.models.contests import ContestIn
from deemster.api.models.evaluation_admin import BudgetsIn, RubricIn, TiersIn
from deemster.api.models.evaluations import CorrectionIn
from deemster.api.models.events import EventOut
from deemster.api.models.executions import BatchIn, ExecutionIn, RunIn
from deemster.api.models.heng_keys import HengKeyIn
from deemster.api.models.judge_hosts import JudgeHostIn, PauseIn
from deemster.api.models.live_input import InputIn
from deemster.api.models.rejudgings import RejudgingIn
from deemster.api.models.stages import StagesIn
from deemster.api.models.submissions import SubmissionIn
from deemster.api.models.user_import import LinkLogIn
from deemster.pipeline.remote.messages import (
    Announcement,
    Finish,
    HeartbeatRequest,
    LeaveRequest,
    TaskRequest,
    Update,
)

BODIES: Final = (
    Announcement,
    BatchIn,
    BudgetsIn,
    CodeSessionIn,
    CodeSessionPatch,
    ContestIn,
    CorrectionIn,
    ExecutionIn,
    Finish,
    HeartbeatRequest,
    HengKeyIn,
    InputIn,
    JudgeHostIn,
    LeaveRequest,
    LinkLogIn,
    LogIn,
    PasswordChange,
    PauseIn,
    RejudgingIn,
    RubricIn,
    RunIn,
    SignUp,
    StagesIn,
    SubmissionIn,
    TaskRequest,
    TiersIn,
    TokenIn,
    Update,
    UserIn,
    UserPatch,
)
COOKIE: Final = "session"
SESSION_SCHEME: Final = {
    "type": "apiKey",
    "in": "cookie",
    "name": SESSION,
    "description": f"Set by POST /v1/session. Requests other than GET also need {CSRF_HEADER}.",
}
UNUSED: Final = frozenset({"HTTPValidationError", "ValidationError"})
"""Schemas of FastAPI's own errors; this API answers with problem details."""


class DocumentedApp(FastAPI):
    def openapi(self) -> dict[str, Any]:
        if self.openapi_schema is None:
            complete(super().openapi())
        assert self.openapi_schema is not None
        return self.openapi_schema


def complete(document: dict[str, Any]) -> None:
    schemas = document["components"]["schemas"]
    _, own = models_json_schema(
        [
            (ProblemDetails, "serialization"),
            (EventOut, "serialization"),
            *((each, "validation") for each in BODIES),
        ],
        ref_template="#/components/schemas/{model}",
    )
    schemas.update(own["$defs"])
    for name in UNUSED:
        schemas.pop(name, None)
    document["components"]["securitySchemes"][COOKIE] = SESSION_SCHEME
    for operations in document["paths"].values():
        for operation in operations.values():
            if "security" in operation:
                document_credentials(operation)
            # FastAPI adds 422 for every path parameter; an invalid id is answered with 404.
            if "application/json" in operation["responses"].get("422", {}).get("content", {}):
                del operation["responses"]["422"]


def document_credentials(operation: dict[str, Any]) -> None:
    """Adds the session cookie as an alternative to a token, and the errors of credentials."""
    if {BEARER.scheme_name: []} in operation["security"]:
        operation["security"].append({COOKIE: []})
    for status, response in errors(401, 403, 429, 503).items():
        operation["responses"].setdefault(str(status), response)
