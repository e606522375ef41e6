"""When a request is sent again, and when its failure is an error (I1)."""

from typing import Any

import httpx
import pytest

from deemster.client import (
    ApiError,
    ConflictError,
    NoAnswerError,
    NotFoundError,
    Program,
    RateLimitError,
    Retries,
    ServerError,
)
from deemster.client.calls import code_sessions, executions, submissions
from deemster.client.exchange import Exchange, path_of
from deemster.client.steps import HttpAnswer, Request, Steps
from tests.client.play import EXCHANGE, play, problem

OK = HttpAnswer(200, {}, b"{}")
LOST = httpx.ReadError("connection lost")
NOT_CONNECTED = httpx.ConnectError("refused")
ACCEPTED = HttpAnswer(
    202,
    {},
    b'{"execution_id": "exe_1", "status": "QUEUED", "submitted_at": "2026-01-01T00:00:00Z"}',
)
CANCELLED = HttpAnswer(
    200,
    {},
    b'{"id": "sub_1", "status": "cancelled", "verdict": null, "problem_id": "prob_x",'
    b' "language": "c", "submitted_at": "2026-01-01T00:00:00Z"}',
)


def typing() -> Steps[None]:
    return executions.type_input(EXCHANGE, "exe_1", "x")


def asking() -> Steps[HttpAnswer]:
    return EXCHANGE.send(Request("GET", "/v1/x"))


def test_i1_all_attempts_of_a_request_that_creates_have_the_same_key() -> None:
    program = Program("python3", "print(1)")
    played = play(executions.start(EXCHANGE, program), LOST, problem(503), ACCEPTED)
    first, *others = played.requests
    assert len(first.headers["Idempotency-Key"]) == 36
    assert others == [first, first]
    assert played.result.execution_id == "exe_1"

    again = play(executions.start(EXCHANGE, program), ACCEPTED).requests[0]
    assert again.headers != first.headers
    own = play(executions.start(EXCHANGE, program, key="mine"), ACCEPTED).requests[0]
    assert own.headers == {"Idempotency-Key": "mine"}


@pytest.mark.parametrize(
    ("steps", "failure", "is_repeated"),
    [
        (asking, LOST, True),
        (asking, NOT_CONNECTED, True),
        (asking, httpx.ReadTimeout("slow"), True),
        (asking, problem(429), True),
        (asking, problem(502), True),
        (asking, problem(503), True),
        (asking, problem(504), True),
        (asking, problem(500), False),
        (asking, problem(404), False),
        (asking, httpx.LocalProtocolError("Illegal header value"), False),
        # What is typed must not be typed twice.
        (typing, LOST, False),
        (typing, httpx.ReadTimeout("slow"), False),
        (typing, problem(503), False),
        (typing, NOT_CONNECTED, True),
        (typing, httpx.ConnectTimeout("slow"), True),
        (typing, problem(429), True),
    ],
)
def test_a_failure_is_repeated_only_if_that_can_help_and_is_safe(
    steps: Any, failure: Any, is_repeated: bool
) -> None:
    if is_repeated:
        assert len(play(steps(), failure, OK).requests) == 2
    else:
        with pytest.raises(ApiError):
            play(steps(), failure)


def test_pauses_grow_and_are_bounded() -> None:
    played = play(asking(), *[LOST] * 6, OK)
    for pause_s, least_s in zip(played.pauses_s, Retries().pauses_s, strict=True):
        assert least_s <= pause_s <= least_s * 1.25
    with pytest.raises(NoAnswerError, match=r"127.0.0.1:8000 .*ReadError: connection lost"):
        play(asking(), *[LOST] * 7)
    with pytest.raises(ServerError, match="It is so") as caught:
        play(asking(), *[problem(503)] * 7)
    assert caught.value.status == 503


def test_a_client_without_pauses_tries_once() -> None:
    once = Exchange(EXCHANGE.endpoint, Retries(pauses_s=()))
    with pytest.raises(NoAnswerError):
        play(once.send(Request("GET", "/v1/x")), NOT_CONNECTED)


def test_a_client_waits_as_long_as_the_server_asks() -> None:
    played = play(asking(), problem(429, retry_after="7"), OK)
    assert 7 <= played.pauses_s[0] <= 7 * 1.25
    played = play(asking(), problem(503, retry_after="tomorrow"), OK)
    assert played.pauses_s[0] < 1


def test_a_pause_that_is_too_long_is_an_error_at_once() -> None:
    with pytest.raises(RateLimitError) as caught:
        play(asking(), problem(429, "enough", retry_after="3600"))
    assert (caught.value.code, caught.value.retry_after_s) == ("enough", 3600)


def test_e6_a_repeated_delete_finds_that_the_first_one_was_done() -> None:
    play(code_sessions.delete(EXCHANGE, "ses_1"), LOST, problem(404))
    with pytest.raises(NotFoundError):
        play(code_sessions.delete(EXCHANGE, "ses_1"), problem(404))


def test_a10_a_repeated_cancel_finds_that_the_first_one_was_done() -> None:
    played = play(submissions.cancel(EXCHANGE, "sub_1"), LOST, problem(409), CANCELLED)
    assert [each.method for each in played.requests] == ["DELETE", "DELETE", "GET"]
    assert played.result.status == "cancelled"
    finished = HttpAnswer(200, {}, CANCELLED.body.replace(b"cancelled", b"finished"))
    with pytest.raises(ConflictError):
        play(submissions.cancel(EXCHANGE, "sub_1"), problem(409), finished)


def test_an_id_cannot_change_the_path() -> None:
    assert path_of("executions", "a/b?c") == "/v1/executions/a%2Fb%3Fc"
    for bad in ("", ".", ".."):
        with pytest.raises(ValueError, match="can't be an id"):
            path_of("executions", bad)
