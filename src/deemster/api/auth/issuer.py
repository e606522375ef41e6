"""Another issuer's word: JWTs that it signed, for us, and that hold now (O6)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import jwt
from jwt import exceptions as wrong

from deemster.api.auth.issuer_client import IssuerDown, fetch_document
from deemster.api.auth.keys import IssuerKeys
from deemster.api.http.errors import Unauthorised
from deemster.cache.single_flight import SingleFlightCache

ALGORITHMS: Final = (
    *("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"),
    *("ES256", "ES384", "ES512", "EdDSA"),
)
"""By a public key. With a shared secret whoever checks a token could make one."""
NEEDED: Final = ("iss", "sub", "aud", "exp")
LEEWAY_S: Final = 30
"""Clocks differ."""
KEPT_S: Final = 600
MOST_LETTERS: Final = 16 * 1024
REASONS: Final = {
    wrong.ExpiredSignatureError: "it has expired",
    wrong.ImmatureSignatureError: "it is not good yet",
    wrong.InvalidAudienceError: "it is not meant for this judge",
    wrong.InvalidIssuerError: "it is of another issuer",
    wrong.MissingRequiredClaimError: "a claim is missing (iss, sub, aud and exp are needed)",
    wrong.InvalidSignatureError: "its signature is wrong",
}


@dataclass(frozen=True, slots=True)
class Discovered:
    """Where the issuer does what."""

    keys: str
    authorize: str
    token: str
    by_form: bool
    """It wants a client's secret in the form, not in the header."""


class Issuer:
    def __init__(self, name: str, jwks_url: str | None = None) -> None:
        self.name = name
        self._jwks_url = jwks_url
        self._document: SingleFlightCache[None, Discovered] = SingleFlightCache(
            self._discover, keep_s=KEPT_S
        )
        self._keys = IssuerKeys(self._keys_at)

    async def places(self) -> Discovered:
        return await self._document.get(None)

    async def claims(self, token: str, *, audience: str) -> Mapping[str, Any]:
        algorithm, kid = head_of(token)
        key = await self._keys.find(kid, algorithm)
        if key is None:
            raise refused("its issuer has no such key")
        try:
            found: dict[str, Any] = jwt.decode(
                token,
                key,
                algorithms=[algorithm],
                audience=audience,
                issuer=self.name,
                leeway=LEEWAY_S,
                options={"require": list(NEEDED)},
            )
        except wrong.PyJWTError as fault:
            raise refused(REASONS.get(type(fault), "it can't be read")) from None
        subject = found["sub"]
        if not subject or len(subject) > 255 or not subject.isprintable():
            raise refused("its subject is no name")
        return found

    async def _keys_at(self) -> str:
        return self._jwks_url or (await self.places()).keys

    async def _discover(self, _: None) -> Discovered:
        url = self.name.rstrip("/") + "/.well-known/openid-configuration"
        document = await fetch_document(url)
        if document.get("issuer") != self.name:
            raise IssuerDown(f"The document at {url} is of another issuer than {self.name}.")
        methods = document.get("token_endpoint_auth_methods_supported", ["client_secret_basic"])
        return Discovered(
            keys=address(document, "jwks_uri"),
            authorize=address(document, "authorization_endpoint"),
            token=address(document, "token_endpoint"),
            by_form="client_secret_basic" not in methods,
        )


def address(document: Mapping[str, Any], name: str) -> str:
    found = document.get(name, "")
    if not isinstance(found, str):
        raise IssuerDown(f"The issuer's document has no address as its {name}.")
    return found


def head_of(token: str) -> tuple[str, str | None]:
    """Algorithm and key, which anybody may have written: only what we know is taken."""
    if len(token) > MOST_LETTERS:
        raise refused("it is far too long")
    try:
        head = jwt.get_unverified_header(token)
    except (wrong.PyJWTError, ValueError, RecursionError):
        raise refused("it can't be read") from None
    algorithm = head.get("alg")
    if algorithm not in ALGORITHMS:
        raise refused(f"its algorithm is none of {', '.join(ALGORITHMS)}")
    return algorithm, head.get("kid")


def refused(reason: str) -> Unauthorised:
    return Unauthorised(f"This JWT is no good here: {reason}.")
