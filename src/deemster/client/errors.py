"""Errors of the client: one class for each kind of answer that a caller handles differently."""

import json
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final

CODE_PREFIX: Final = "urn:deemster:error:"


class ApiError(Exception):
    """Base of all errors that the client raises."""

    def __init__(
        self,
        detail: str,
        *,
        code: str = "",
        status: int | None = None,
        retry_after_s: float | None = None,
        request_id: str = "",
        fields: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(detail)
        self.detail = detail
        """What happened, and what to do."""
        self.code = code
        """Stable code of the error, such as `not_found`; empty if the server sent none."""
        self.status = status
        """HTTP status; None if there was no answer."""
        self.retry_after_s = retry_after_s
        """The server asks to wait so long before the next attempt."""
        self.request_id = request_id
        """Id of the request in the log of the server."""
        self.fields = dict(fields or {})
        """What is wrong with each invalid field of the request."""


class InvalidRequestError(ApiError):
    """The server refused the request: it must be changed before it is sent again."""


class AuthenticationError(ApiError):
    """The token is missing, unknown, expired or revoked."""


class ForbiddenError(ApiError):
    """The account, or the scope of its token, does not allow this."""


class NotFoundError(ApiError):
    """The object does not exist, or it belongs to another account."""


class ConflictError(ApiError):
    """The present state of the object does not allow this."""


class VersionConflictError(ApiError):
    """The code session has another version than the caller expected: read it, then merge."""


class RateLimitError(ApiError):
    """A rate limit or a quota is reached: see `retry_after_s`."""


class ServerError(ApiError):
    """The server, or a proxy before it, can't answer now."""


class NoAnswerError(ApiError):
    """The server can't be reached, or the connection was lost."""


class UnexpectedAnswerError(ApiError):
    """The answer is not one of Deemster: check the URL."""


ERROR_OF_STATUS: Final[Mapping[int, type[ApiError]]] = {
    401: AuthenticationError,
    403: ForbiddenError,
    404: NotFoundError,
    409: ConflictError,
    412: VersionConflictError,
    429: RateLimitError,
}
STATUS_OF_CODE: Final[Mapping[str, int]] = {
    "unauthorised": 401,
    "forbidden": 403,
    "not_found": 404,
    "conflict": 409,
    "rate_limited": 429,
    "enough": 429,
    "unavailable": 503,
}
"""For messages of a terminal, which have a code but no HTTP status."""


def error_of_answer(status: int, headers: Mapping[str, str], body: bytes) -> ApiError:
    """Reads the problem document (RFC 9457) of an answer that is no success."""
    problem = problem_document(body)
    faults = [each for each in problem.get("errors") or () if isinstance(each, dict)]
    return class_of(status)(
        str(problem.get("detail") or reason_phrase(status)),
        code=str(problem.get("type", "")).removeprefix(CODE_PREFIX),
        status=status,
        retry_after_s=retry_after(headers),
        request_id=str(problem.get("request_id", "")),
        fields={str(each.get("field")): str(each.get("detail")) for each in faults},
    )


def error_of_code(code: str, detail: str) -> ApiError:
    status = STATUS_OF_CODE.get(code, 422)
    return class_of(status)(detail, code=code, status=status)


def class_of(status: int) -> type[ApiError]:
    if status in ERROR_OF_STATUS:
        return ERROR_OF_STATUS[status]
    if status >= 500:
        return ServerError
    return InvalidRequestError if status >= 400 else UnexpectedAnswerError


def retry_after(headers: Mapping[str, str]) -> float | None:
    text = headers.get("retry-after", "")
    return float(text) if text.isascii() and text.isdecimal() else None


def problem_document(body: bytes) -> Mapping[str, Any]:
    try:
        found = json.loads(body)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def reason_phrase(status: int) -> str:
    try:
        return f"{HTTPStatus(status).phrase} ({status})"
    except ValueError:
        return f"HTTP status {status}"
