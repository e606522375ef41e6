"""Log-in by OpenID Connect: authorization code, PKCE, state and nonce (O6)."""

import base64
import binascii
import hashlib
import hmac
import json
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final
from urllib.parse import urlencode

from deemster.api.auth.issuer import Issuer
from deemster.api.auth.issuer_client import IssuerDown, fetch
from deemster.api.http.errors import FieldFault, Invalid
from deemster.domain.errors import Refused

CALLBACK: Final = "/v1/oidc/callback"
COOKIE: Final = "deemster_oidc"
HOLDS_S: Final = 600
"""For who is asked for a password there."""
MOST_LETTERS: Final = 1024
"""Of the path to go back to."""


class LogInFailed(Refused):
    code: ClassVar[str] = "log_in_failed"


@dataclass(frozen=True, slots=True)
class PendingLogIn:
    """What a browser was sent away for: it comes back with the same state."""

    state: str
    next: str


class Oidc:
    def __init__(
        self, issuer: Issuer, secret: bytes, *, public_url: str, client: str, key: str | None
    ) -> None:
        self._issuer = issuer
        self._secret = secret
        self._client = client
        self._key = key
        self._back = public_url.rstrip("/") + CALLBACK

    async def begin(self, then: str) -> tuple[str, str]:
        """Where the browser goes, and the cookie that it keeps meanwhile."""
        places = await self._issuer.places()
        state = secrets.token_urlsafe(24)
        query = {
            "response_type": "code",
            "client_id": self._client,
            "redirect_uri": self._back,
            "scope": "openid profile",
            "state": state,
            "nonce": self._made_of("nonce", state),
            "code_challenge": challenge_of(self._made_of("verifier", state)),
            "code_challenge_method": "S256",
        }
        joint = "&" if "?" in places.authorize else "?"
        return f"{places.authorize}{joint}{urlencode(query)}", self._sealed(
            PendingLogIn(state, then)
        )

    def errand(self, cookie: str | None, state: str | None) -> PendingLogIn:
        found = self._opened(cookie or "")
        if found is None or state is None or not same(found.state, state):
            raise LogInFailed(
                "This log-in was begun in another browser, or too long ago: begin again at "
                "/v1/oidc/login."
            )
        return found

    async def claims(self, code: str, errand: PendingLogIn) -> Mapping[str, Any]:
        """Who it is, as the issuer says."""
        token = await self._exchange(code, self._made_of("verifier", errand.state))
        claims = await self._issuer.claims(token, audience=self._client)
        if not same(str(claims.get("nonce")), self._made_of("nonce", errand.state)):
            raise LogInFailed("The issuer's answer is to another log-in: begin again.")
        several = isinstance(claims["aud"], list) and len(claims["aud"]) > 1
        if claims.get("azp", None if several else self._client) != self._client:
            raise LogInFailed("The issuer's answer is for another party: begin again.")
        return claims

    async def _exchange(self, code: str, verifier: str) -> str:
        places = await self._issuer.places()
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": self._back,
            "client_id": self._client,
            "code_verifier": verifier,
        }
        auth = None
        if self._key is not None and places.by_form:
            form["client_secret"] = self._key
        elif self._key is not None:
            auth = (self._client, self._key)
        status, said = await fetch(places.token, form, auth=auth)
        if status >= 500:
            raise IssuerDown(f"The issuer answered {status} at {places.token}.")
        token = said.get("id_token")
        if status != 200 or not isinstance(token, str):
            raise LogInFailed(
                "The issuer does not know this log-in any more, or not this judge: begin again "
                "at /v1/oidc/login, or ask an admin to look at the settings oidc_client_id "
                "and oidc_client_secret."
            )
        return token

    def _made_of(self, what: str, state: str) -> str:
        """Only we can make it again, so that nobody has to keep it."""
        key = hmac.new(self._secret, f"oidc {what}:{state}".encode(), hashlib.sha256)
        return base64url(key.digest())

    def _sealed(self, errand: PendingLogIn) -> str:
        until = int(time.time()) + HOLDS_S
        text = base64url(json.dumps([errand.state, errand.next, until]).encode())
        return f"{text}.{self._made_of('errand', text)}"

    def _opened(self, cookie: str) -> PendingLogIn | None:
        text, _, seal = cookie.partition(".")
        if not same(seal, self._made_of("errand", text)):
            return None
        try:
            state, then, until = json.loads(base64.urlsafe_b64decode(text + "=="))
        except (binascii.Error, ValueError):
            return None
        return PendingLogIn(state, then) if until > time.time() else None


def local_path(path: str) -> str:
    """Of this site: a browser takes `//host`, and some `/\\host`, for another one."""
    good = (
        path.startswith("/")
        and not path.startswith("//")
        and "\\" not in path
        and len(path) <= MOST_LETTERS
        and path.isascii()
        and path.isprintable()
        and " " not in path
    )
    if not good:
        raise Invalid([FieldFault("next", "it is a path of this site, as /problems")])
    return path


def challenge_of(verifier: str) -> str:
    return base64url(hashlib.sha256(verifier.encode()).digest())


def base64url(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def same(one: str, other: str) -> bool:
    return hmac.compare_digest(one.encode(), other.encode())
