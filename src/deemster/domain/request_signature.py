"""Signs the requests between a server and its judge hosts, and checks signatures (M1)."""

import hashlib
import hmac
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final
from urllib.parse import parse_qsl, quote

HOST: Final = "deemster-host"
TIMESTAMP: Final = "deemster-timestamp"
NONCE: Final = "deemster-nonce"
SIGNATURE: Final = "deemster-signature"
CONTENT_TYPE: Final = "content-type"
SIGNED_HEADERS: Final = (CONTENT_TYPE, HOST, NONCE, TIMESTAMP)
VALID_S: Final = 60
"""A request is valid for this time before and after its timestamp."""
NONCE_KEPT_S: Final = 2 * VALID_S
NONCE_FORM: Final = re.compile(r"[0-9a-f]{32}")


class SignatureFault(StrEnum):
    """Why a request is refused; refusals are counted by these words."""

    MISSING = "signature_missing"
    UNKNOWN_HOST = "unknown_host"
    EXPIRED = "expired"
    """The clock of the host or of the server is wrong, or the request was kept back."""
    FORGED = "forged"
    REPLAYED = "replayed"


@dataclass(frozen=True, slots=True)
class SignedRequest:
    method: str
    path: str
    query: str
    """As in the URL, without the question mark."""
    headers: Mapping[str, str]
    """With names in lower case; those that are not signed may be missing or present."""
    body: bytes


def string_to_sign(request: SignedRequest) -> str:
    """Returns the parts of the request, one per line, in the order that is signed."""
    headers = "&".join(
        f"{name}={quote(request.headers.get(name, ''), safe='')}" for name in SIGNED_HEADERS
    )
    digest = hashlib.sha256(request.body).hexdigest()
    query = canonical_query(request.query)
    parts = (request.method.upper(), request.path, query, headers, digest)
    return "".join(f"{part}\n" for part in parts)


def canonical_query(query: str) -> str:
    pairs = sorted(parse_qsl(query, keep_blank_values=True))
    return "&".join(f"{quote(name, safe='')}={quote(value, safe='')}" for name, value in pairs)


def signature(key: bytes, request: SignedRequest) -> str:
    return hmac.new(key, string_to_sign(request).encode(), hashlib.sha256).hexdigest()


def signed_headers(
    key: bytes,
    host: str,
    method: str,
    path: str,
    query: str,
    body: bytes,
    *,
    now_s: float,
    content_type: str = "application/json",
) -> dict[str, str]:
    """The headers to send with a request, with a fresh nonce."""
    headers = {
        CONTENT_TYPE: content_type,
        HOST: host,
        TIMESTAMP: str(int(now_s)),
        NONCE: secrets.token_hex(16),
    }
    request = SignedRequest(method, path, query, headers, body)
    return {**headers, SIGNATURE: signature(key, request)}


def find_fault(key: bytes, request: SignedRequest, *, now_s: float) -> SignatureFault | None:
    """Checks everything but whether the nonce was used before, which the caller remembers.

    Call it with a key also for an unknown host: both answers take the same time.
    """
    given = request.headers.get(SIGNATURE, "")
    sent = request.headers.get(TIMESTAMP, "")
    nonce = request.headers.get(NONCE, "")
    if not given or not sent.isascii() or not sent.isdigit() or not NONCE_FORM.fullmatch(nonce):
        return SignatureFault.MISSING
    if not hmac.compare_digest(signature(key, request).encode(), given.encode()):
        return SignatureFault.FORGED
    if abs(now_s - int(sent[:15])) > VALID_S:
        return SignatureFault.EXPIRED
    return None
