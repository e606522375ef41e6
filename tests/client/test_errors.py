"""Each kind of refusal has its class, with what the problem document says (A6)."""

import pytest

from deemster.api.http.errors import ERROR_KINDS, kind_of
from deemster.client import (
    ApiError,
    AuthenticationError,
    ConflictError,
    ForbiddenError,
    InvalidRequestError,
    NotFoundError,
    RateLimitError,
    ServerError,
    UnexpectedAnswerError,
    VersionConflictError,
)
from deemster.client.errors import STATUS_OF_CODE, error_of_answer, error_of_code


def test_a6_an_error_has_the_fields_of_the_problem_document() -> None:
    body = (
        b'{"type": "urn:deemster:error:invalid", "title": "Request refused", "status": 422,'
        b' "detail": "limits: too much.", "request_id": "r1",'
        b' "errors": [{"field": "limits", "detail": "too much"}], "new": 1}'
    )
    error = error_of_answer(422, {"retry-after": "5"}, body)
    assert isinstance(error, InvalidRequestError)
    assert str(error) == error.detail == "limits: too much."
    assert (error.code, error.status, error.request_id) == ("invalid", 422, "r1")
    assert (error.retry_after_s, error.fields) == (5, {"limits": "too much"})


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (302, UnexpectedAnswerError),
        (400, InvalidRequestError),
        (401, AuthenticationError),
        (403, ForbiddenError),
        (404, NotFoundError),
        (409, ConflictError),
        (412, VersionConflictError),
        (413, InvalidRequestError),
        (422, InvalidRequestError),
        (429, RateLimitError),
        (500, ServerError),
        (503, ServerError),
    ],
)
def test_the_status_decides_on_the_class(status: int, kind: type[ApiError]) -> None:
    """Also without a problem document, as from a proxy."""
    for body in (b"", b"<html>", b"[]", b'{"detail": null}'):
        error = error_of_answer(status, {}, body)
        assert type(error) is kind
        assert str(status) in error.detail
        assert error.code == ""


def test_codes_have_the_statuses_of_the_server() -> None:
    kinds = {each.code: kind_of(each).status for each in ERROR_KINDS}
    known = {code: status for code, status in STATUS_OF_CODE.items() if code in kinds}
    assert known == {code: kinds[code] for code in known}
    assert type(error_of_code("not_found", "x")) is NotFoundError
    assert type(error_of_code("", "x")) is InvalidRequestError
