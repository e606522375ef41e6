"""The signature of heng: HMAC-SHA256 over method, path, query, headers and body (M6)."""

import hashlib
import hmac
from collections.abc import Iterable, Mapping
from typing import Final
from urllib.parse import parse_qsl, quote

from deemster.domain.request_signature import SignedRequest

CONTENT_TYPE: Final = "content-type"
ACCESS_KEY: Final = "x-heng-accesskey"
NONCE: Final = "x-heng-nonce"
TIMESTAMP: Final = "x-heng-timestamp"
SIGNATURE: Final = "x-heng-signature"
SIGNED_HEADERS: Final = (CONTENT_TYPE, ACCESS_KEY, NONCE, TIMESTAMP)
EMPTY_BODY: Final = b"{}"
"""What is hashed instead of an empty body."""
UNRESERVED: Final = "-_.!~*'()"
"""JavaScript's encodeURIComponent leaves these, letters and digits as they are."""


def canonical_pairs(pairs: Iterable[tuple[str, str]]) -> str:
    """Lower-cased, encoded, sorted by name and then by value."""
    encoded = sorted((encoded_text(name), encoded_text(value)) for name, value in pairs)
    return "&".join(f"{name}={value}" for name, value in encoded)


def encoded_text(text: str) -> str:
    return quote(text.lower(), safe=UNRESERVED)


def canonical_query(query: str) -> str:
    """Of several values of one name the last counts, as in heng-sign-js."""
    return canonical_pairs(dict(parse_qsl(query, keep_blank_values=True)).items())


def canonical_headers(headers: Mapping[str, str]) -> str:
    return canonical_pairs((name, headers.get(name, "")) for name in SIGNED_HEADERS)


def string_to_sign(request: SignedRequest) -> str:
    parts = (
        request.method.upper(),
        request.path,
        canonical_query(request.query),
        canonical_headers(request.headers),
        hashlib.sha256(request.body or EMPTY_BODY).hexdigest(),
    )
    return "".join(f"{part}\n" for part in parts)


def signature_of(secret_key: str, request: SignedRequest) -> str:
    text = string_to_sign(request).encode()
    return hmac.new(secret_key.encode(), text, hashlib.sha256).hexdigest()


def is_signed(secret_key: str, request: SignedRequest) -> bool:
    """Takes the same time for every wrong signature."""
    given = request.headers.get(SIGNATURE, "")
    return hmac.compare_digest(signature_of(secret_key, request).encode(), given.encode())


def secret_key_of(installation_secret: bytes, access_key: str) -> str:
    """Derives the secret key of an access key, so that the database stores no secret."""
    return hmac.new(
        installation_secret, f"heng:{access_key}".encode(), hashlib.sha256
    ).hexdigest()
