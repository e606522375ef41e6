"""A6: every error has a stable type, and says what to do."""

import asyncio
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from deemster.api.http import errors
from deemster.api.http.errors import ERROR_KINDS, Crashed, error_response
from deemster.domain.errors import (
    Conflict,
    DeemsterError,
    LimitReached,
    LostRace,
    NotFound,
    Refused,
    Unavailable,
)
from deemster.store.idempotency_keys import KeyReused
from deemster.store.lifecycle import StateChanged
from deemster.store.pool import Pool, connection
from deemster.store.submission_inserts import QuotaUsed, TooSoon
from tests.api.conftest import Api
from tests.builders import make_problem

CODES = {
    errors.Malformed: (400, "malformed"),
    errors.Unauthorised: (401, "unauthorised"),
    errors.WrongPassword: (401, "wrong_password"),
    errors.SignatureMissing: (401, "signature_missing"),
    errors.UnknownHost: (401, "unknown_host"),
    errors.SignatureExpired: (401, "expired"),
    errors.InvalidSignature: (401, "forged"),
    errors.Replayed: (401, "replayed"),
    errors.Forbidden: (403, "forbidden"),
    errors.Revoked: (403, "revoked"),
    errors.UnknownPath: (404, "no_such_path"),
    NotFound: (404, "not_found"),
    errors.WrongMethod: (405, "method_not_allowed"),
    errors.TooSlow: (408, "too_slow"),
    errors.NotAnalyzed: (404, "not_analyzed"),
    Conflict: (409, "conflict"),
    errors.HostGone: (409, "gone"),
    errors.AnalysisPending: (409, "analysis_pending"),
    LostRace: (409, "lost_race"),
    StateChanged: (409, "moved_on"),
    errors.PreconditionFailed: (412, "precondition_failed"),
    errors.TooLarge: (413, "too_large"),
    errors.WrongMedia: (415, "wrong_media_type"),
    LimitReached: (429, "enough"),
    TooSoon: (429, "too_soon"),
    QuotaUsed: (429, "quota_spent"),
    Refused: (422, "refused"),
    KeyReused: (422, "idempotency_key_reused"),
    errors.NoWorkers: (503, "no_workers"),
    errors.Overloaded: (503, "overloaded"),
    Unavailable: (503, "unavailable"),
    Crashed: (500, "internal"),
}


@pytest.mark.parametrize("kind", CODES)
def test_each_error_has_its_status_and_its_type(kind: type[DeemsterError]) -> None:
    status, code = CODES[kind]
    response = error_response(kind("Say what to do."), "an-id")
    assert response.status_code == status
    assert response.headers["content-type"] == "application/problem+json"
    assert f'"type":"urn:deemster:error:{code}"'.encode() in bytes(response.body)
    assert b'"request_id":"an-id"' in bytes(response.body)
    has_delay = status in {429, 503} or kind is errors.AnalysisPending
    assert ("retry-after" in response.headers) == has_delay
    assert ("www-authenticate" in response.headers) == (status == 401)


def test_every_error_of_the_table_is_tested() -> None:
    assert set(ERROR_KINDS) - set(CODES) == {DeemsterError}


@pytest.mark.parametrize("kind", [Unavailable, LostRace, Crashed])
def test_internal_messages_are_not_shown(kind: type[DeemsterError]) -> None:
    """A11: such messages name hosts, paths and attempts."""
    assert b"10.0.0.7" not in bytes(error_response(kind("10.0.0.7"), "").body)


async def test_an_unknown_path_is_not_found(ada: Api) -> None:
    for path in ("/v1", "/v1/submissions/", "/v1/nothing", "/robots.txt"):
        answer = await ada.get(path)
        assert answer.status_code == 404, path
        assert answer.headers["content-type"] == "application/problem+json"
        assert answer.json()["type"] == "urn:deemster:error:no_such_path"


async def test_a_wrong_method_names_the_allowed_ones(ada: Api) -> None:
    answer = await ada.client.put("/v1/problems", headers=ada.user.headers)
    assert answer.status_code == 405
    assert answer.json()["type"] == "urn:deemster:error:method_not_allowed"
    assert answer.headers["allow"] == "GET, HEAD, POST"
    answer = await ada.client.patch("/v1/submissions", headers=ada.user.headers)
    assert answer.headers["allow"] == "GET, HEAD, POST"
    answer = await ada.client.put("/v1/submissions/sub_x", headers=ada.user.headers)
    assert answer.headers["allow"] == "DELETE, GET, HEAD"


async def test_an_error_has_the_members_of_the_standard(ada: Api) -> None:
    """RFC 9457."""
    answer = await ada.get("/v1/problems/prob_none")
    body = answer.json()
    assert set(body) == {"type", "code", "title", "status", "detail", "request_id"}
    assert body["type"] == f"urn:deemster:error:{body['code']}"
    assert body["status"] == answer.status_code == 404
    assert body["title"]
    assert body["detail"].endswith(".")
    assert body["request_id"] == answer.headers["x-request-id"]


BROKEN = """
ALTER TABLE {table} RENAME TO hidden;
CREATE VIEW {table} AS SELECT * FROM hidden WHERE '{table}'::text::int > 0
"""
"""Statements that read the table fail with an error that is no outage and names the table."""


async def test_an_internal_error_shows_only_its_request_id(
    app: FastAPI, ada: Api, pool: Pool, log_lines: list[dict[str, Any]]
) -> None:
    """A11: the log has the error, under that id."""
    await make_problem(pool)
    async with connection(pool) as acquired:
        await acquired.execute(BROKEN.format(table="listed_problem"))
    await pool.expire_connections()  # what they have prepared still reads the table
    answer = await ada.get("/v1/problems/prob_sum")
    assert answer.status_code == 500
    assert answer.headers["content-type"] == "application/problem+json"
    body = answer.json()
    assert body["type"] == "urn:deemster:error:internal"
    assert "listed" not in answer.text
    (crash,) = [line for line in log_lines if line["event"] == "request.crashed"]
    assert crash["requestId"] == body["request_id"]
    assert "listed_problem" in str(crash["exc_info"])


async def test_requests_after_an_internal_error_are_served(
    client: httpx.AsyncClient, ada: Api, pool: Pool
) -> None:
    async with connection(pool) as acquired:
        await acquired.execute(BROKEN.format(table="listed_problem"))
    await pool.expire_connections()
    answers = await asyncio.gather(*(ada.get("/v1/problems") for _ in range(20)))
    assert {answer.status_code for answer in answers} == {500}
    async with connection(pool) as acquired:
        await acquired.execute(
            "DROP VIEW listed_problem; ALTER TABLE hidden RENAME TO listed_problem"
        )
    assert (await ada.get("/v1/problems")).status_code == 200


async def test_a6_messages_show_no_regular_expression(admin: Api) -> None:
    """Words say what is allowed."""
    refused = await admin.post("/v1/admin/users", {"name": "ada lovelace"})
    assert refused.status_code == 422
    detail = refused.json()["errors"][0]["detail"]
    assert detail.startswith("use up to 64 letters, digits, dots")
    refused = await admin.get("/v1/submissions?problem=a%00b")
    assert refused.status_code == 422
    for text in (detail, refused.text):
        assert "pattern" not in text
        assert "[" not in text.partition('"detail"')[2].partition('"request_id"')[0]
