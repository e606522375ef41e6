"""The OpenAPI document: what FastAPI finds out, mended where routes do things by themselves."""

from typing import Any, Final

from fastapi import FastAPI
from pydantic.json_schema import models_json_schema

from deemster.api.auth.cookies import CSRF_HEADER, SESSION
from deemster.api.feed.message import EventOut
from deemster.api.http.errors import Problem
from deemster.api.http.json_response import faults
from deemster.api.models.accounts import (
    LogIn,
    PasswordChange,
    SignUp,
    TokenIn,
    UserIn,
    UserPatch,
)
from deemster.api.models.submission_requests import SubmissionIn
from deemster.api.routes.contests import ContestIn
from deemster.api.routes.rejudgings import RejudgingIn

PEOPLE: Final = (LogIn, SignUp, PasswordChange, TokenIn, UserIn, UserPatch)
COOKIE: Final = "session"
LOG_IN: Final = {
    "type": "apiKey",
    "in": "cookie",
    "name": SESSION,
    "description": f"POST /v1/session sets it; what is no GET needs {CSRF_HEADER} with it.",
}
NOT_OURS: Final = frozenset({"HTTPValidationError", "ValidationError"})
"""How FastAPI would answer errors; ours are problem documents."""


class DocumentedApp(FastAPI):
    def openapi(self) -> dict[str, Any]:
        if self.openapi_schema is None:
            mend(super().openapi())
        assert self.openapi_schema is not None
        return self.openapi_schema


def mend(document: dict[str, Any]) -> None:
    schemas = document["components"]["schemas"]
    _, own = models_json_schema(
        [
            (Problem, "serialization"),
            (EventOut, "serialization"),
            (SubmissionIn, "validation"),
            *((each, "validation") for each in PEOPLE),
            (ContestIn, "validation"),
            (RejudgingIn, "validation"),
        ],
        ref_template="#/components/schemas/{model}",
    )
    schemas.update(own["$defs"])
    for name in NOT_OURS:
        schemas.pop(name, None)
    document["components"]["securitySchemes"][COOKIE] = LOG_IN
    for operations in document["paths"].values():
        for operation in operations.values():
            if "security" in operation:
                tell_of_caller(operation)
            # Put there for any path with an id, which is never invalid here, only unknown.
            if "application/json" in operation["responses"].get("422", {}).get("content", {}):
                del operation["responses"]["422"]


def tell_of_caller(operation: dict[str, Any]) -> None:
    """Whoever has to say who they are may do so in two ways, and be refused in these."""
    operation["security"].append({COOKIE: []})
    for status, told in faults(401, 403, 429, 503).items():
        operation["responses"].setdefault(str(status), told)
