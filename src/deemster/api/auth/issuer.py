"""Verifies JWTs of an external issuer: signature, audience and time (O6)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import jwt
from jwt import exceptions as wrong

from deemster.api.auth.issuer_client import IssuerDown, fetch_document
from deemster.api.auth.issuer_keys import IssuerKeys
from deemster.api.http.errors import Unauthorised
from deemster.cache.single_flight import SingleFlightCache

ALGORITHMS: Final = (
    *("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"),
    *("ES256", "ES384", "ES512", "EdDSA"),
)
"""Only public keys: whoever verifies a token with a shared secret could also forge one."""
REQUIRED_CLAIMS: Final = ("iss", "sub", "aud", "exp")
LEEWAY_S: Final = 30
"""Tolerates clocks that differ."""
KEPT_S: Final = 600
MAX_TOKEN_CHARS: Final = 16 * 1024
REASONS: Final = {
    wrong.ExpiredSignatureError: "it has expired",
    wrong.ImmatureSignatureError: "it is not valid yet",
    wrong.InvalidAudienceError: "its audience is not this judge",
    wrong.InvalidIssuerError: "it comes from another issuer",
    wrong.MissingRequiredClaimError: "a claim is missing (iss, sub, aud and exp are required)",
    wrong.InvalidSignatureError: "its signature is wrong",
}


@dataclass(frozen=True, slots=True)
class Endpoints:
    """URLs from the issuer's discovery document."""

    keys: str
    authorize: str
    token: str
    secret_in_form: bool
    """The issuer expects the client secret in the form, not in the header."""


class Issuer:
    def __init__(self, name: str, jwks_url: str | None = None) -> None:
        self.name = name
        self._jwks_url = jwks_url
        self._endpoints: SingleFlightCache[None, Endpoints] = SingleFlightCache(
            self._discover, keep_s=KEPT_S
        )
        self._keys = IssuerKeys(self._keys_url)

    async def endpoints(self) -> Endpoints:
        return await self._endpoints.get(None)

    async def claims(self, token: str, *, audience: str) -> Mapping[str, Any]:
        algorithm, kid = read_header(token)
        key = await self._keys.find(kid, algorithm)
        if key is None:
            raise invalid_jwt("its issuer has no such key")
        try:
            found: dict[str, Any] = jwt.decode(
                token,
                key,
                algorithms=[algorithm],
                audience=audience,
                issuer=self.name,
                leeway=LEEWAY_S,
                options={"require": list(REQUIRED_CLAIMS)},
            )
        except wrong.PyJWTError as fault:
            raise invalid_jwt(REASONS.get(type(fault), "it can't be read")) from None
        subject = found["sub"]
        if not subject or len(subject) > 255 or not subject.isprintable():
            raise invalid_jwt("its subject is not a name")
        return found

    async def _keys_url(self) -> str:
        return self._jwks_url or (await self.endpoints()).keys

    async def _discover(self, _: None) -> Endpoints:
        url = self.name.rstrip("/") + "/.well-known/openid-configuration"
        document = await fetch_document(url)
        if document.get("issuer") != self.name:
            raise IssuerDown(f"The document at {url} names another issuer than {self.name}.")
        methods = document.get("token_endpoint_auth_methods_supported", ["client_secret_basic"])
        return Endpoints(
            keys=url_in(document, "jwks_uri"),
            authorize=url_in(document, "authorization_endpoint"),
            token=url_in(document, "token_endpoint"),
            secret_in_form="client_secret_basic" not in methods,
        )


def url_in(document: Mapping[str, Any], name: str) -> str:
    found = document.get(name, "")
    if not isinstance(found, str):
        raise IssuerDown(f"The issuer's document has no URL in {name}.")
    return found


def read_header(token: str) -> tuple[str, str | None]:
    """Returns algorithm and key id. Anyone may have written them: only known ones pass."""
    if len(token) > MAX_TOKEN_CHARS:
        raise invalid_jwt("it is too long")
    try:
        head = jwt.get_unverified_header(token)
    except (wrong.PyJWTError, ValueError, RecursionError):
        raise invalid_jwt("it can't be read") from None
    algorithm = head.get("alg")
    if algorithm not in ALGORITHMS:
        raise invalid_jwt(f"its algorithm is none of {', '.join(ALGORITHMS)}")
    return algorithm, head.get("kid")


def invalid_jwt(reason: str) -> Unauthorised:
    return Unauthorised(f"This JWT is not valid: {reason}.")
