"""M1: the server accepts what a judge host signed, once, and counts what it refuses."""

import json
from collections.abc import Callable, Sequence

import httpx
import pytest
from structlog.typing import EventDict

from deemster.api.auth.host_signature import BRIEF_BYTES
from deemster.domain.request_signature import HOST, NONCE, SIGNATURE, TIMESTAMP, VALID_S
from deemster.store.pool import Pool
from tests.api.conftest import Api
from tests.api.host_client import ANNOUNCEMENT, HostClient, add_host, refusals

PATH = "/v1/judgehost/register"
BODY = json.dumps(ANNOUNCEMENT).encode()
UNKNOWN = "hst_" + "0" * 26
Forge = Callable[[httpx.Request], httpx.Request]


def changed(request: httpx.Request, url: str = "", body: bytes = b"") -> httpx.Request:
    """The same headers with another URL or body."""
    headers = {**request.headers, "content-length": str(len(body or request.content))}
    return httpx.Request(
        "POST", url or request.url, headers=headers, content=body or request.content
    )


def with_header(name: str, value: str) -> Forge:
    def change(request: httpx.Request) -> httpx.Request:
        request.headers[name] = value
        return request

    return change


def without(name: str) -> Forge:
    def change(request: httpx.Request) -> httpx.Request:
        del request.headers[name]
        return request

    return change


FORGERIES: dict[str, tuple[Forge, int, str]] = {
    "no signature": (without(SIGNATURE), 401, "signature_missing"),
    "no host": (without(HOST), 401, "signature_missing"),
    "no timestamp": (without(TIMESTAMP), 401, "signature_missing"),
    "no nonce": (without(NONCE), 401, "signature_missing"),
    "a nonce of another form": (with_header(NONCE, "x"), 401, "signature_missing"),
    "another nonce": (with_header(NONCE, "0" * 32), 401, "forged"),
    "another signature": (with_header(SIGNATURE, "0" * 64), 401, "forged"),
    "another content type": (with_header("content-type", "text/plain"), 401, "forged"),
    "another timestamp": (with_header(TIMESTAMP, "1"), 401, "forged"),
    "another path": (lambda it: changed(it, url=f"{it.url}/../leave"), 401, "forged"),
    "another query": (lambda it: changed(it, url=f"{it.url}?a=b"), 401, "forged"),
    "another body": (lambda it: changed(it, body=BODY + b" "), 401, "forged"),
    "an unknown host": (with_header(HOST, UNKNOWN), 401, "unknown_host"),
    "no id of a host": (with_header(HOST, "' OR true"), 401, "unknown_host"),
    "a huge body": (lambda it: changed(it, body=b" " * (BRIEF_BYTES + 1)), 413, "too_large"),
}


async def send(
    host: HostClient, forge: Forge | None = None, **options: float
) -> httpx.Response:
    request = host.client.build_request(
        "POST", PATH, content=BODY, headers=host.sign(PATH, BODY, **options)
    )
    return await host.client.send(forge(request) if forge else request)


def code(answer: httpx.Response) -> str:
    assert answer.headers["content-type"] == "application/problem+json"
    return str(answer.json()["code"])


async def test_m1_what_a_host_did_not_sign_is_refused_and_counted_once(
    admin: Api, pool: Pool, log_lines: Sequence[EventDict]
) -> None:
    host = await add_host(admin)
    counted: dict[str, int] = {}
    for name, (forge, status, reason) in FORGERIES.items():
        answer = await send(host, forge)
        assert (answer.status_code, code(answer)) == (status, reason), name
        counted[reason] = counted.get(reason, 0) + 1
        assert await refusals(pool) == counted, name
    assert (await send(host)).status_code == 200
    assert await refusals(pool) == counted
    lines = [line for line in log_lines if line["event"] == "judge_host.refused"]
    assert [line["reason"] for line in lines] == [reason for _, _, reason in FORGERIES.values()]
    assert {line["judgeHost"] for line in lines} == {host.key.host, UNKNOWN, ""}
    assert {line["address"] for line in lines} == {"127.0.0.1"}


@pytest.mark.parametrize("later_s", [-VALID_S - 2, VALID_S + 2])
async def test_m1_a_host_with_a_wrong_clock_is_refused(
    admin: Api, pool: Pool, later_s: float
) -> None:
    host = await add_host(admin)
    answer = await send(host, later_s=later_s)
    assert (answer.status_code, code(answer)) == (401, "expired")
    assert (await send(host, later_s=later_s * 0.9)).status_code == 200
    assert await refusals(pool) == {"expired": 1}


async def test_m1_a_repeated_request_is_refused(admin: Api, pool: Pool) -> None:
    host = await add_host(admin)
    headers = host.sign(PATH, BODY)
    first, second = [
        await host.client.post(PATH, content=BODY, headers=headers) for _ in range(2)
    ]
    assert (first.status_code, second.status_code) == (200, 401)
    assert code(second) == "replayed"
    assert await refusals(pool) == {"replayed": 1}


async def test_m1_a_key_of_another_host_or_generation_is_refused(
    admin: Api, pool: Pool
) -> None:
    one, two = await add_host(admin, "one"), await add_host(admin, "two")
    assert code(await send(one, with_header(HOST, two.key.host))) == "forged"
    rotated = await admin.post(f"/v1/admin/judge-hosts/{one.key.host}/rotate")
    assert rotated.status_code == 200, rotated.text
    assert code(await send(one)) == "forged"
    assert await refusals(pool) == {"forged": 2}


async def test_m1_a_revoked_host_is_refused_if_it_has_its_key(admin: Api, pool: Pool) -> None:
    host = await add_host(admin)
    await admin.post(f"/v1/admin/judge-hosts/{host.key.host}/revoke")
    answer = await send(host)
    assert (answer.status_code, code(answer)) == (403, "revoked")
    assert code(await send(host, with_header(SIGNATURE, "0" * 64))) == "forged"
    assert await refusals(pool) == {"revoked": 1, "forged": 1}


async def test_m1_d2_refused_requests_are_limited_but_not_those_of_hosts(
    admin: Api, pool: Pool
) -> None:
    host = await add_host(admin)
    most = 60  # the default of `refused_logins_per_minute_ip`
    answers = [await send(host, without(SIGNATURE)) for _ in range(most + 3)]
    assert {answer.status_code for answer in answers[:most]} == {401}
    assert answers[-1].status_code == 429
    assert (await send(host)).status_code == 200
    [counted] = (await refusals(pool)).values()
    assert most <= counted < most + 3


async def test_a6_each_field_of_a_message_is_checked(admin: Api) -> None:
    host = await add_host(admin)
    wrong = {"slots": 0, "colour": 1, "languages": {"c": "\x00"}, "address": "file:///x"}
    answer = await host.post("register", {**ANNOUNCEMENT, **wrong})
    assert answer.status_code == 422
    fields = {each["field"] for each in answer.json()["errors"]}
    assert fields == {"slots", "colour", "languages.c", "address"}
