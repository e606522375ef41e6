"""M6: the signature of heng, against vectors that openssl and sha256sum compute."""

import hashlib
import re
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from deemster.domain.heng_signature import (
    SIGNATURE,
    canonical_query,
    is_signed,
    secret_key_of,
    signature_of,
    string_to_sign,
)
from deemster.domain.request_signature import SignedRequest

PAGE = Path(__file__).resolve().parents[2] / "docs" / "coming-from-heng.md"
SECRET = "secret-of-the-client"
HEADERS = {
    "content-type": "application/json;charset=utf-8",
    "x-heng-accesskey": "HAK_01",
    "x-heng-nonce": "0.123456",
    "x-heng-timestamp": "1700000000",
    "user-agent": "not signed",
}
BODY = b'{"judge":{"type":"normal"}}'
TASK = SignedRequest("post", "/c/v1/judges", "", HEADERS, BODY)
TASK_SIGNATURE = "2a07faf5db719a82ad2cbb44ba5b071edb1e27faca70c249d47835f52077b515"
EMPTY = SignedRequest(
    "GET",
    "/c/v1/judges",
    "b=%20X%2F!&A=1&A=2",
    {name: value for name, value in HEADERS.items() if name != "content-type"},
    b"",
)
EMPTY_SIGNATURE = "550b9a613bbd9e2f1532b27bd025afbf55f40e89ec9e4cea4dbd395986ab5c8a"


def test_the_string_to_sign_has_five_lines() -> None:
    assert string_to_sign(TASK) == (
        "POST\n"
        "/c/v1/judges\n"
        "\n"
        "content-type=application%2Fjson%3Bcharset%3Dutf-8&x-heng-accesskey=hak_01"
        "&x-heng-nonce=0.123456&x-heng-timestamp=1700000000\n"
        "a60d9382cf57328a8a07587fe4e451ae7414b8b54549037fe56a326c38fe4fb1\n"
    )


@pytest.mark.parametrize(
    ("request_", "signature"), [(TASK, TASK_SIGNATURE), (EMPTY, EMPTY_SIGNATURE)]
)
def test_signatures_are_those_of_the_vectors(request_: SignedRequest, signature: str) -> None:
    assert signature_of(SECRET, request_) == signature
    assert is_signed(
        SECRET, replace(request_, headers={**request_.headers, SIGNATURE: signature})
    )


def test_the_commands_in_the_docs_give_the_vectors() -> None:
    """M6: the docs show how each vector arises."""
    section = PAGE.read_text().partition("## The signature")[2]
    script, printed = re.findall(r"^```(?:sh)?\n(.*?)^```", section, re.MULTILINE | re.DOTALL)
    ran = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout == printed
    bodies = [hashlib.sha256(each).hexdigest() for each in (BODY, b"{}")]
    assert printed.split() == [bodies[0], TASK_SIGNATURE, bodies[1], EMPTY_SIGNATURE]


@pytest.mark.parametrize(
    "changed",
    [
        replace(TASK, method="PUT"),
        replace(TASK, path="/c/v1/judge"),
        replace(TASK, query="a=1"),
        replace(TASK, body=BODY + b" "),
        *(replace(TASK, headers={**HEADERS, name: "other"}) for name in list(HEADERS)[:4]),
    ],
)
def test_every_signed_part_counts(changed: SignedRequest) -> None:
    headers = {**changed.headers, SIGNATURE: TASK_SIGNATURE}
    assert not is_signed(SECRET, replace(changed, headers=headers))
    assert not is_signed("another secret", replace(TASK, headers=headers))


def test_a_missing_or_odd_signature_is_refused() -> None:
    for given in ({}, {SIGNATURE: ""}, {SIGNATURE: "é"}, {SIGNATURE: TASK_SIGNATURE.upper()}):
        assert not is_signed(SECRET, replace(TASK, headers={**HEADERS, **given}))


@pytest.mark.parametrize(
    ("query", "canonical"),
    [
        ("", ""),
        ("b=1&a=2", "a=2&b=1"),
        ("a=2&A=1", "a=1&a=2"),
        ("a=1&a=0", "a=0"),
        ("empty=", "empty="),
        ("k=%C3%84%20%2B", "k=%C3%A4%20%2B"),
        ("k=-_.!~*'()", "k=-_.!~*'()"),
    ],
)
def test_queries_are_lowered_encoded_and_sorted(query: str, canonical: str) -> None:
    assert canonical_query(query) == canonical


def test_each_access_key_has_its_own_secret_key() -> None:
    keys = {secret_key_of(secret, key) for secret in (b"a", b"b") for key in ("x", "y")}
    assert len(keys) == 4
    assert all(re.fullmatch("[0-9a-f]{64}", key) for key in keys)
