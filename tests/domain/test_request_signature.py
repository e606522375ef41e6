"""M1: signatures between a server and its judge hosts cover every part of a request."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from deemster.domain.errors import Refused
from deemster.domain.judge_host import JudgeHostId, check_name, derive_key, parse_key
from deemster.domain.request_signature import (
    HOST,
    NONCE,
    SIGNATURE,
    TIMESTAMP,
    VALID_S,
    SignatureFault,
    SignedRequest,
    canonical_query,
    find_fault,
    signature,
    signed_headers,
    string_to_sign,
)

PAGE = Path(__file__).parents[2] / "docs" / "judge-hosts.md"
FENCED = re.compile(r"^```.*?\n(.*?)^```", re.MULTILINE | re.DOTALL)
KEY = b"a key"
NOW_S = 1_800_000_000.5


def signed(**changes: str) -> SignedRequest:
    headers = signed_headers(KEY, "hst_1", "POST", "/v1/x", "b=2&a=1", b"{}", now_s=NOW_S)
    return SignedRequest("POST", "/v1/x", "b=2&a=1", {**headers, **changes}, b"{}")


def test_m1_the_example_of_the_docs_is_right() -> None:
    """The page has, in this order: the key, the request, the signed text and the signature."""
    section = PAGE.read_text().partition("### Example")[2]
    key_text, request, text, sent = FENCED.findall(section)[:4]
    start, _, rest = request.partition("\n")
    head, _, body = rest.partition("\n\n")
    method, path, _ = start.split()
    headers = {
        name.lower(): value for name, value in re.findall(r"^(\S+): (.*)$", head, re.MULTILINE)
    }
    key = parse_key(key_text)
    found = SignedRequest(method, path, "", headers, body.rstrip("\n").encode())
    assert json.loads(body)
    assert key.host == headers[HOST]
    assert string_to_sign(found) == text
    assert f"{signature(key.secret, found)}\n" == sent
    valid = replace(found, headers={**headers, SIGNATURE: sent.strip()})
    assert find_fault(key.secret, valid, now_s=int(headers[TIMESTAMP])) is None


@pytest.mark.parametrize(
    "changed",
    [
        replace(signed(), method="GET"),
        replace(signed(), path="/v1/x/"),
        replace(signed(), query="a=1&b=3"),
        replace(signed(), query="a=1"),
        replace(signed(), body=b"{} "),
        *(signed(**{name: "5" * 32}) for name in ("content-type", HOST, NONCE, TIMESTAMP)),
    ],
)
def test_m1_each_part_of_a_request_is_signed(changed: SignedRequest) -> None:
    assert find_fault(KEY, signed(), now_s=NOW_S) is None
    assert find_fault(KEY, changed, now_s=NOW_S) is SignatureFault.FORGED
    assert find_fault(b"another key", signed(), now_s=NOW_S) is SignatureFault.FORGED


@pytest.mark.parametrize("after_s", [-VALID_S - 1, VALID_S + 1])
def test_m1_a_request_is_valid_for_a_minute(after_s: float) -> None:
    assert find_fault(KEY, signed(), now_s=NOW_S + after_s) is SignatureFault.EXPIRED
    assert find_fault(KEY, signed(), now_s=NOW_S + 0.9 * after_s) is None


@pytest.mark.parametrize(
    ("name", "value"), [(SIGNATURE, ""), (TIMESTAMP, "-1"), (TIMESTAMP, "²"), (NONCE, "0")]
)
def test_m1_a_malformed_header_counts_as_missing(name: str, value: str) -> None:
    assert find_fault(KEY, signed(**{name: value}), now_s=NOW_S) is SignatureFault.MISSING


def test_m1_the_order_of_a_query_makes_no_difference_but_its_values_do() -> None:
    assert canonical_query("b=2&a=%31&b=1&c=") == canonical_query("c=&b=1&b=2&a=1")
    assert canonical_query("a=1%26b=2") == "a=1%26b%3D2" != canonical_query("a=1&b=2")


def test_m1_a_key_belongs_to_one_host_and_generation() -> None:
    host, other = JudgeHostId("hst_1"), JudgeHostId("hst_2")
    keys = {
        derive_key(b"secret", host, 1).secret,
        derive_key(b"secret", host, 2).secret,
        derive_key(b"secret", other, 1).secret,
        derive_key(b"other secret", host, 1).secret,
    }
    assert len(keys) == 4
    key = derive_key(b"secret", host, 1)
    assert parse_key(f" {key.text}\n") == key


@pytest.mark.parametrize("text", ["", "dmh_1", "dmh_1.x", "deem_1.x", "dmh_1." + "A" * 44])
def test_m1_another_secret_is_not_taken_for_a_key(text: str) -> None:
    with pytest.raises(Refused, match="deemster host add"):
        parse_key(text)


def test_a_name_is_not_taken_for_an_id() -> None:
    assert check_name("lab-1.example_2") == "lab-1.example_2"
    for name in ("", ".x", "a/b", "hst_1", "x" * 64):
        with pytest.raises(Refused, match="can't be the name"):
            check_name(name)
