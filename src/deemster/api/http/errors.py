"""Turns errors into RFC 9457 problem details; one table has the status of each error (A6)."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final

from pydantic import Field, ValidationError
from starlette.requests import HTTPConnection
from starlette.responses import Response

from deemster.api.models.field_types import ResponseModel
from deemster.domain.errors import (
    Conflict,
    DeemsterError,
    LimitReached,
    LostRace,
    NotFound,
    Refused,
    Unavailable,
)
from deemster.domain.request_signature import SignatureFault
from deemster.pattern_messages import fault_text

MEDIA_TYPE: Final = "application/problem+json"
RETRY_AFTER_S: Final = 5
MAX_FAULTS: Final = 100
"""A request with more invalid fields gets one message instead of a list."""
MAX_FIELD_CHARS: Final = 100


class Unauthorised(Refused):
    """The request has no valid credentials."""

    code: ClassVar[str] = "unauthorised"


class WrongPassword(Unauthorised):
    """The name or the password is wrong; the response does not say which."""

    code: ClassVar[str] = "wrong_password"


class InvalidSignature(Unauthorised):
    """The request is not signed as a judge host must sign it (M1)."""

    code: ClassVar[str] = SignatureFault.FORGED


class SignatureMissing(InvalidSignature):
    code: ClassVar[str] = SignatureFault.MISSING


class UnknownHost(InvalidSignature):
    code: ClassVar[str] = SignatureFault.UNKNOWN_HOST


class SignatureExpired(InvalidSignature):
    code: ClassVar[str] = SignatureFault.EXPIRED


class Replayed(InvalidSignature):
    code: ClassVar[str] = SignatureFault.REPLAYED


class Forbidden(Refused):
    """The caller is known, but may not do this."""

    code: ClassVar[str] = "forbidden"


class Revoked(Forbidden):
    """An admin revoked the judge host."""

    code: ClassVar[str] = "revoked"


class Malformed(Refused):
    """The request is not valid HTTP or JSON."""

    code: ClassVar[str] = "malformed"


class PreconditionFailed(Refused):
    """The object has another version than If-Match names."""

    code: ClassVar[str] = "precondition_failed"


class TooLarge(Refused):
    code: ClassVar[str] = "too_large"


class TooSlow(Refused):
    code: ClassVar[str] = "too_slow"


class WrongMedia(Refused):
    code: ClassVar[str] = "wrong_media_type"


class UnknownPath(Refused):
    code: ClassVar[str] = "no_such_path"


class WrongMethod(Refused):
    code: ClassVar[str] = "method_not_allowed"


class NoWorkers(Unavailable):
    """No live worker would judge the submission (Q15)."""

    code: ClassVar[str] = "no_workers"


class Overloaded(Unavailable):
    """More submissions are waiting than the high watermark allows."""

    code: ClassVar[str] = "overloaded"

    def __init__(self, message: str, retry_after_s: float = 5.0) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class NotAnalyzed(NotFound):
    """The program exists, but there is no analysis of it, and none will follow."""

    code: ClassVar[str] = "not_analyzed"


class AnalysisPending(Conflict):
    """The analysis will follow."""

    code: ClassVar[str] = "analysis_pending"


class HostGone(Conflict):
    """The server took the judge host for dead: it must register again (M4)."""

    code: ClassVar[str] = "gone"


class Crashed(DeemsterError):
    """An unexpected exception; the log has it under the request's id."""

    code: ClassVar[str] = "internal"


@dataclass(frozen=True, slots=True)
class FieldFault:
    """What is wrong with a field; never the value that was sent."""

    field: str
    detail: str


class Invalid(Refused):
    code: ClassVar[str] = "invalid"

    def __init__(self, faults: Sequence[FieldFault]) -> None:
        super().__init__(" ".join(f"{fault.field}: {fault.detail}." for fault in faults[:3]))
        self.faults = faults


@dataclass(frozen=True, slots=True)
class ErrorKind:
    status: int
    title: str
    detail: str | None = None
    """Replaces the error's own message, which may name hosts and paths."""
    headers: Mapping[str, str] = field(default_factory=dict)


RETRY: Final = {"Retry-After": str(RETRY_AFTER_S)}
CHALLENGE: Final = {"WWW-Authenticate": 'Bearer realm="deemster"'}
SIGNATURE_NEEDED: Final = {"WWW-Authenticate": 'Deemster-Host realm="deemster"'}
CLOSE: Final = {"Connection": "close"}
"""The rest of the request is not read, so the connection can't be used again."""

ERROR_KINDS: Final[dict[type[DeemsterError], ErrorKind]] = {
    Malformed: ErrorKind(400, "Malformed request"),
    Unauthorised: ErrorKind(401, "Authentication needed", headers=CHALLENGE),
    InvalidSignature: ErrorKind(401, "Signature refused", headers=SIGNATURE_NEEDED),
    WrongPassword: ErrorKind(401, "Wrong name or password", headers=CHALLENGE),
    Forbidden: ErrorKind(403, "Not permitted"),
    NotFound: ErrorKind(404, "Not found"),
    NotAnalyzed: ErrorKind(404, "Not analysed"),
    UnknownPath: ErrorKind(404, "Unknown path"),
    WrongMethod: ErrorKind(405, "Method not allowed"),
    TooSlow: ErrorKind(408, "Request took too long", headers=CLOSE),
    Conflict: ErrorKind(409, "Conflict with the current state"),
    AnalysisPending: ErrorKind(409, "Not analysed yet", headers={"Retry-After": "2"}),
    LostRace: ErrorKind(
        409,
        "Changed by another request",
        "Another request changed this at the same time: read it again, then retry.",
    ),
    PreconditionFailed: ErrorKind(412, "Changed since it was read"),
    TooLarge: ErrorKind(413, "Request too large", headers=CLOSE),
    WrongMedia: ErrorKind(415, "Unsupported media type"),
    Refused: ErrorKind(422, "Request refused"),
    LimitReached: ErrorKind(429, "Limit reached"),
    DeemsterError: ErrorKind(
        500,
        "Internal error",
        "This is a fault of the judge: report the request_id to its operator.",
    ),
    Unavailable: ErrorKind(
        503,
        "Temporarily unavailable",
        f"A part of the judge does not answer: try again in {RETRY_AFTER_S} s.",
        RETRY,
    ),
    NoWorkers: ErrorKind(503, "No worker takes jobs", headers={"Retry-After": "15"}),
    Overloaded: ErrorKind(503, "Too many submissions are waiting"),
}
"""An error that is not in the table has the kind of its nearest base class."""


class FieldProblem(ResponseModel):
    field: str
    detail: str


class ProblemDetails(ResponseModel):
    """An error as problem details (RFC 9457)."""

    type: str = Field(examples=["urn:deemster:error:not_found"])
    """Stable name of the error, for programs."""
    code: str = Field(examples=["not_found"])
    """The last part of `type`."""
    title: str
    status: int
    detail: str
    """What happened, and what to do."""
    request_id: str = ""
    """Id of the request in the log of the judge."""
    errors: list[FieldProblem] | None = None
    """The invalid fields of the request."""


def kind_of(error: type[DeemsterError]) -> ErrorKind:
    return next(ERROR_KINDS[each] for each in error.__mro__ if each in ERROR_KINDS)


def error_response(
    error: DeemsterError,
    request_id: str,
    headers: Mapping[str, str] | None = None,
    *,
    detail: str | None = None,
) -> Response:
    """`detail` is a translation."""
    kind = kind_of(type(error))
    problem = ProblemDetails(
        type=f"urn:deemster:error:{error.code}",
        code=error.code,
        title=kind.title,
        status=kind.status,
        detail=detail or kind.detail or str(error),
        request_id=request_id,
    )
    if isinstance(error, Invalid):
        problem.errors = [
            FieldProblem(field=each.field, detail=each.detail) for each in error.faults
        ]
    all_headers = {**kind.headers, **(headers or {})}
    if isinstance(error, LimitReached | Overloaded):
        all_headers["Retry-After"] = str(max(1, math.ceil(error.retry_after_s)))
    if isinstance(error, LimitReached) and error.limit is not None:
        all_headers["RateLimit-Limit"] = str(error.limit)
        all_headers["RateLimit-Remaining"] = "0"
        all_headers["RateLimit-Reset"] = all_headers["Retry-After"]
    return Response(
        problem.model_dump_json(exclude_unset=True), kind.status, all_headers, MEDIA_TYPE
    )


def errors(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Documents errors of a route; the errors of authentication are added to all routes."""
    titles = {each.status: each.title for each in reversed(ERROR_KINDS.values())}
    schema = {"$ref": f"#/components/schemas/{ProblemDetails.__name__}"}
    return {
        status: {"description": titles[status], "content": {MEDIA_TYPE: {"schema": schema}}}
        for status in statuses
    }


def validation_error(found: Iterable[Mapping[str, Any]]) -> Refused:
    """Makes an error of what pydantic found: bad JSON, or invalid fields by name."""
    faults = []
    for error in found:
        if error["type"] == "json_invalid":
            reason = error.get("ctx", {}).get("error", "")
            return Malformed(f"The body is not valid JSON: {reason}.")
        faults.append(FieldFault(field_name(error["loc"]), fault_detail(error)))
    return Invalid(faults)


def invalid_body(fault: ValidationError) -> Refused:
    if fault.error_count() > MAX_FAULTS:
        # A list of all of them would cost more than sending them did.
        return Invalid([FieldFault("the request", "far too many fields are invalid")])
    return validation_error(fault.errors(include_url=False, include_input=False))


def field_name(location: Sequence[int | str]) -> str:
    """The field as a path, such as `files.0.name`."""
    return ".".join(map(str, location))[:MAX_FIELD_CHARS] or "the request"


def fault_detail(error: Mapping[str, Any]) -> str:
    if error["type"] == "extra_forbidden":
        return "unknown field, leave it out"
    if error["type"] == "missing":
        return "this field is required"
    text = fault_text(error).rstrip(".")
    return text[:1].lower() + text[1:]


def request_id_of(request: HTTPConnection) -> str:
    return str(request.scope.get("request_id", ""))
