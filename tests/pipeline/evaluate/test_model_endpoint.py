"""P3: what an endpoint answers, and what that means."""

import pytest

from deemster.pipeline.evaluate.model_endpoint import (
    RESPONSE_BYTES,
    CallFailure,
    CallFault,
    Completion,
    ModelEndpoint,
    read_completion,
    retry_after_s,
)
from deemster.pipeline.evaluate.prompt import Prompt
from tests.pipeline.deliver.receiver import Answering, raw
from tests.pipeline.evaluate.conftest import make_tier
from tests.services.model_server import always, http, model_server

PROMPT = Prompt(({"role": "system", "content": "x"}, {"role": "user", "content": "1:1| y"}), {})
DATE = "Sun, 06 Nov 1994 08:49:37 GMT"


@pytest.mark.parametrize(
    ("given", "seconds"),
    [
        ("7", 7),
        ("0", 0),
        ("Sun, 06 Nov 1994 08:50:07 GMT", 30),
        ("Sun, 06 Nov 1994 08:00:00 GMT", 0),
        ("99999999999999", 3600),
        ("soon", 5),
        ("-1", 5),
        ("", 5),
    ],
)
def test_retry_after_is_seconds_or_a_date(given: str, seconds: float) -> None:
    assert retry_after_s({b"retry-after": given, b"date": DATE}) == seconds


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (http(500), CallFailure(CallFault.SERVER_ERROR)),
        (http(503), CallFailure(CallFault.SERVER_ERROR)),
        (http(404), CallFailure(CallFault.REFUSED)),
        (http(307, b"", "Location: http://127.0.0.1:1/"), CallFailure(CallFault.REFUSED)),
        (http(429, b"", "Retry-After: 3"), CallFailure(CallFault.RATE_LIMITED, 3)),
        (http(200, b"x" * (RESPONSE_BYTES + 1)), Completion("", None, None)),
        (raw(b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{"), CallFailure(CallFault.BROKEN)),
        (raw(b"no http"), CallFailure(CallFault.BROKEN)),
    ],
    ids=["500", "503", "404", "307", "429", "too large", "cut off", "no http"],
)
async def test_each_failure_is_a_result(
    answer: Answering, expected: CallFailure | Completion
) -> None:
    endpoint = ModelEndpoint(allow_private=True)
    async with model_server(a=always(answer)) as server:
        tier = make_tier(server, "a")
        found = await endpoint.ask(tier, PROMPT, call_key="k", timeout_s=30)
    assert found == expected


async def test_a_server_that_is_not_there_is_unreachable() -> None:
    async with model_server(a=always(http(200))) as server:
        tier = make_tier(server, "a")
    found = await ModelEndpoint(allow_private=True).ask(
        tier, PROMPT, call_key="k", timeout_s=30
    )
    assert found == CallFailure(CallFault.UNREACHABLE)


async def test_a_tier_whose_key_is_missing_is_not_asked() -> None:
    async with model_server(a=always(http(200))) as server:
        tier = make_tier(server, "a", key_name="unknown")
        found = await ModelEndpoint(allow_private=True).ask(
            tier, PROMPT, call_key="k", timeout_s=30
        )
    assert found == CallFailure(CallFault.REFUSED)
    assert server.chats == []


@pytest.mark.parametrize(
    "body",
    [b"", b"[]", b'{"choices": 1}', b'{"choices": [{"message": {"content": 5}}]}', b"\xff"],
)
def test_a_response_of_another_form_has_no_content(body: bytes) -> None:
    assert read_completion(body) == Completion("", None, None)


def test_a_refusal_has_no_content_but_a_cost() -> None:
    body = (
        b'{"choices": [{"message": {"content": null, "refusal": "no"}}],'
        b' "usage": {"prompt_tokens": 10, "completion_tokens": 2}}'
    )
    assert read_completion(body) == Completion("", 10, 2)
