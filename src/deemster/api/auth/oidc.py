"""Log-in by OpenID Connect: authorization code flow with PKCE, state and nonce (O6)."""

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
PENDING_S: Final = 600
"""Time that a user has to log in at the issuer."""
MAX_PATH_CHARS: Final = 1024


class LogInFailed(Refused):
    code: ClassVar[str] = "log_in_failed"


@dataclass(frozen=True, slots=True)
class PendingLogIn:
    """A log-in that was begun; the issuer sends the browser back with the same state."""

    state: str
    next: str
    """Path that the browser gets after the log-in."""


class Oidc:
    def __init__(
        self,
        issuer: Issuer,
        secret: bytes,
        *,
        public_url: str,
        client_id: str,
        client_secret: str | None,
    ) -> None:
        self._issuer = issuer
        self._secret = secret
        self._client_id = client_id
        self._client_secret = client_secret
        self._redirect_uri = public_url.rstrip("/") + CALLBACK

    async def begin(self, next_path: str) -> tuple[str, str]:
        """Returns the issuer's URL for the browser, and the cookie to keep meanwhile."""
        endpoints = await self._issuer.endpoints()
        state = secrets.token_urlsafe(24)
        query = {
            "response_type": "code",
            "client_id": self._client_id,
            "redirect_uri": self._redirect_uri,
            "scope": "openid profile",
            "state": state,
            "nonce": self._derive("nonce", state),
            "code_challenge": code_challenge(self._derive("verifier", state)),
            "code_challenge_method": "S256",
        }
        separator = "&" if "?" in endpoints.authorize else "?"
        url = f"{endpoints.authorize}{separator}{urlencode(query)}"
        return url, self._to_cookie(PendingLogIn(state, next_path))

    def pending_log_in(self, cookie: str | None, state: str | None) -> PendingLogIn:
        found = self._from_cookie(cookie or "")
        if found is None or state is None or not is_equal(found.state, state):
            raise LogInFailed(
                "This log-in was begun in another browser, or too long ago: begin again at "
                "/v1/oidc/login."
            )
        return found

    async def claims(self, code: str, pending: PendingLogIn) -> Mapping[str, Any]:
        """Returns the verified claims of the user who logged in."""
        token = await self._exchange(code, self._derive("verifier", pending.state))
        claims = await self._issuer.claims(token, audience=self._client_id)
        if not is_equal(str(claims.get("nonce")), self._derive("nonce", pending.state)):
            raise LogInFailed("The issuer's response belongs to another log-in: begin again.")
        has_several = isinstance(claims["aud"], list) and len(claims["aud"]) > 1
        if claims.get("azp", None if has_several else self._client_id) != self._client_id:
            raise LogInFailed("The issuer's response is for another client: begin again.")
        return claims

    async def _exchange(self, code: str, verifier: str) -> str:
        endpoints = await self._issuer.endpoints()
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": self._redirect_uri,
            "client_id": self._client_id,
            "code_verifier": verifier,
        }
        auth = None
        if self._client_secret is not None and endpoints.secret_in_form:
            form["client_secret"] = self._client_secret
        elif self._client_secret is not None:
            auth = (self._client_id, self._client_secret)
        status, response = await fetch(endpoints.token, form, auth=auth)
        if status >= 500:
            raise IssuerDown(f"The issuer answered {status} at {endpoints.token}.")
        token = response.get("id_token")
        if status != 200 or not isinstance(token, str):
            raise LogInFailed(
                "The issuer refused to complete the log-in: begin again at /v1/oidc/login, or "
                "ask an admin to check the settings oidc_client_id and oidc_client_secret."
            )
        return token

    def _derive(self, purpose: str, state: str) -> str:
        """Derived from the installation's secret, so that it need not be stored."""
        key = hmac.new(self._secret, f"oidc {purpose}:{state}".encode(), hashlib.sha256)
        return base64url(key.digest())

    def _to_cookie(self, pending: PendingLogIn) -> str:
        until = int(time.time()) + PENDING_S
        text = base64url(json.dumps([pending.state, pending.next, until]).encode())
        return f"{text}.{self._derive('cookie', text)}"

    def _from_cookie(self, cookie: str) -> PendingLogIn | None:
        text, _, signature = cookie.partition(".")
        if not is_equal(signature, self._derive("cookie", text)):
            return None
        try:
            state, next_path, until = json.loads(base64.urlsafe_b64decode(text + "=="))
        except (binascii.Error, ValueError):
            return None
        return PendingLogIn(state, next_path) if until > time.time() else None


def check_local_path(path: str) -> str:
    """Accepts paths of this site: browsers take `//host`, some also `/\\host`, for another."""
    is_local = (
        path.startswith("/")
        and not path.startswith("//")
        and "\\" not in path
        and len(path) <= MAX_PATH_CHARS
        and path.isascii()
        and path.isprintable()
        and " " not in path
    )
    if not is_local:
        raise Invalid([FieldFault("next", "it must be a path of this site, such as /problems")])
    return path


def code_challenge(verifier: str) -> str:
    return base64url(hashlib.sha256(verifier.encode()).digest())


def base64url(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def is_equal(one: str, other: str) -> bool:
    return hmac.compare_digest(one.encode(), other.encode())
