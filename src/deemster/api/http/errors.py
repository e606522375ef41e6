"""Errors as RFC 9457 problem details: one table says which is which status (A6)."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final

from pydantic import Field, ValidationError
from starlette.requests import Request
from starlette.responses import Response

from deemster.api.models.kinds import ResponseModel
from deemster.domain.errors import (
    Conflict,
    DeemsterError,
    LimitReached,
    LostRace,
    NotFound,
    Refused,
    Unavailable,
)
from deemster.pipeline.accept.load_shedding import Overloaded

MEDIA_TYPE: Final = "application/problem+json"
RETRY_AFTER_S: Final = 5
MOST_NAMED: Final = 100
"""Fields that are wrong; who sends more than that hears only so."""
MOST_LETTERS: Final = 100
"""Of a field's name."""


class Unauthorised(Refused):
    """Nobody, or nobody that we know, asks."""

    code: ClassVar[str] = "unauthorised"


class WrongPassword(Unauthorised):
    """Or no such name: which of both is not told."""

    code: ClassVar[str] = "wrong_password"


class Forbidden(Refused):
    """We know who asks, and it isn't for them."""

    code: ClassVar[str] = "forbidden"


class Malformed(Refused):
    """It is no JSON, or no HTTP that we understand."""

    code: ClassVar[str] = "malformed"


class TooLarge(Refused):
    code: ClassVar[str] = "too_large"


class TooSlow(Refused):
    code: ClassVar[str] = "too_slow"


class WrongMedia(Refused):
    code: ClassVar[str] = "wrong_media_type"


class NoRoute(Refused):
    code: ClassVar[str] = "no_such_path"


class WrongMethod(Refused):
    code: ClassVar[str] = "method_not_allowed"


class NoWorkers(Unavailable):
    """Nobody would judge it (Q15)."""

    code: ClassVar[str] = "no_workers"


class Crashed(DeemsterError):
    """A fault of ours that nobody thought of; the log tells more, under the request's id."""

    code: ClassVar[str] = "internal"


@dataclass(frozen=True, slots=True)
class FieldFault:
    """What is wrong with one field, never what was in it."""

    field: str
    detail: str


class Invalid(Refused):
    """Some fields are not as they should be."""

    code: ClassVar[str] = "invalid"

    def __init__(self, faults: Sequence[FieldFault]) -> None:
        super().__init__(" ".join(f"{fault.field}: {fault.detail}." for fault in faults[:3]))
        self.faults = faults


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    title: str
    said: str | None = None
    """What is said instead of the error's own message, which may name hosts and paths."""
    headers: Mapping[str, str] = field(default_factory=dict)


RETRY: Final = {"Retry-After": str(RETRY_AFTER_S)}
CHALLENGE: Final = {"WWW-Authenticate": 'Bearer realm="deemster"'}
CLOSE: Final = {"Connection": "close"}
"""What the client still sends is not read, so the connection can't be used again."""

ANSWERS: Final[dict[type[DeemsterError], Answer]] = {
    Malformed: Answer(400, "The request can't be read"),
    Unauthorised: Answer(401, "A token is needed", headers=CHALLENGE),
    WrongPassword: Answer(401, "Not this name and password", headers=CHALLENGE),
    Forbidden: Answer(403, "Not for this account"),
    NoRoute: Answer(404, "There is no such path"),
    NotFound: Answer(404, "Not found"),
    WrongMethod: Answer(405, "Not by this method"),
    TooSlow: Answer(408, "Too slow", headers=CLOSE),
    Conflict: Answer(409, "Not in this state"),
    LostRace: Answer(409, "Someone else was first", "It has changed: look at it again."),
    TooLarge: Answer(413, "Too large", headers=CLOSE),
    WrongMedia: Answer(415, "Not in a form that is understood here"),
    LimitReached: Answer(429, "Too much, or too soon"),
    Refused: Answer(422, "Can't be done as asked"),
    NoWorkers: Answer(503, "No worker takes work", headers={"Retry-After": "15"}),
    Overloaded: Answer(503, "Too much to do"),
    Unavailable: Answer(
        503,
        "Not available now",
        f"Something that is needed for this does not answer: try again in {RETRY_AFTER_S} s.",
        RETRY,
    ),
    DeemsterError: Answer(
        500,
        "A fault of ours",
        "This should not have happened: tell whoever runs this judge the request_id.",
    ),
}
"""By the nearest class; unknown ones are answered as their family is."""


class FieldProblem(ResponseModel):
    field: str
    detail: str


class Problem(ResponseModel):
    """RFC 9457."""

    type: str = Field(examples=["urn:deemster:error:not_found"])
    """Stable: programs may rely on it."""
    title: str
    status: int
    detail: str
    request_id: str = ""
    errors: list[FieldProblem] | None = None
    """Of a request with wrong fields, each of them."""


def answer_of(kind: type[DeemsterError]) -> Answer:
    return next(ANSWERS[each] for each in kind.__mro__ if each in ANSWERS)


def response_of(
    fault: DeemsterError, request_id: str, headers: Mapping[str, str] | None = None
) -> Response:
    answer = answer_of(type(fault))
    problem = Problem(
        type=f"urn:deemster:error:{fault.code}",
        title=answer.title,
        status=answer.status,
        detail=answer.said or str(fault),
        request_id=request_id,
    )
    if isinstance(fault, Invalid):
        problem.errors = [
            FieldProblem(field=each.field, detail=each.detail) for each in fault.faults
        ]
    told = {**answer.headers, **(headers or {})}
    if isinstance(fault, LimitReached | Overloaded):
        told["Retry-After"] = str(max(1, math.ceil(fault.retry_after_s)))
    if isinstance(fault, LimitReached) and fault.limit is not None:
        told["RateLimit-Limit"] = str(fault.limit)
        told["RateLimit-Remaining"] = "0"
        told["RateLimit-Reset"] = told["Retry-After"]
    return Response(
        problem.model_dump_json(exclude_unset=True),
        answer.status,
        told,
        MEDIA_TYPE,
    )


def invalid_of(errors: Iterable[Mapping[str, Any]]) -> Refused:
    """From what pydantic found: bad JSON, or fields by name."""
    faults = []
    for error in errors:
        if error["type"] == "json_invalid":
            said = error.get("ctx", {}).get("error", "")
            return Malformed(f"The body is no JSON: {said}.")
        faults.append(FieldFault(field_of(error["loc"]), words_of(error)))
    return Invalid(faults)


def invalid_body(fault: ValidationError) -> Refused:
    if fault.error_count() > MOST_NAMED:
        # To name them all would cost us more than it costs to send them.
        return Invalid([FieldFault("the request", "far too many fields are wrong")])
    return invalid_of(fault.errors(include_url=False, include_input=False))


def field_of(location: Sequence[int | str]) -> str:
    """`files.0.name`."""
    return ".".join(map(str, location))[:MOST_LETTERS] or "the request"


def words_of(error: Mapping[str, Any]) -> str:
    if error["type"] == "extra_forbidden":
        return "there is no such field, leave it out"
    if error["type"] == "missing":
        return "this field is needed"
    text = str(error["msg"]).removeprefix("Value error, ").rstrip(".")
    return text[:1].lower() + text[1:]


def request_id_of(request: Request) -> str:
    return str(request.scope.get("request_id", ""))
