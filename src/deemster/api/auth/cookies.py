"""Session cookies with CSRF protection, and cookies of browsers that logged in before (O6)."""

import hashlib
import hmac
import re
import secrets
from operator import xor
from typing import Final

from starlette.requests import HTTPConnection
from starlette.responses import Response

from deemster.api.http.errors import Forbidden
from deemster.settings import Settings

SESSION: Final = "deemster_session"
DEVICE: Final = "deemster_device"
DEVICE_KEPT_S: Final = 180 * 24 * 3600
CSRF_HEADER: Final = "X-CSRF-Token"
MASKED: Final = re.compile(r"[0-9a-f]{128}")
SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})


class Cookies:
    def __init__(self, settings: Settings, secret: bytes) -> None:
        self._secret = secret
        public = (settings.public_url or "").lower()
        self._secure = public.startswith("https://")
        self._origin = "/".join(public.split("/")[:3])
        # Browsers accept this prefix only from this host and only over TLS.
        self._prefix = "__Host-" if self._secure else ""

    def read(self, request: HTTPConnection, name: str = SESSION) -> str | None:
        return request.cookies.get(self._prefix + name)

    def write(
        self, response: Response, value: str, *, keep_s: float, name: str = SESSION
    ) -> None:
        response.set_cookie(
            self._prefix + name,
            value,
            max_age=int(keep_s),
            path="/",
            secure=self._secure,
            httponly=True,
            samesite="lax",
        )

    def drop(self, response: Response, name: str = SESSION) -> None:
        response.delete_cookie(
            self._prefix + name, path="/", secure=self._secure, httponly=True, samesite="lax"
        )

    def csrf_token(self, digest: bytes) -> str:
        """Another site can make a browser send the cookie, but can't read this token."""
        return hmac.new(self._secret, b"csrf:" + digest, hashlib.sha256).hexdigest()

    def masked_csrf_token(self, digest: bytes) -> str:
        """The same token in another form each time. Pages are compressed, and show parts of
        their address: from the length of many such pages, a token that stays the same could be
        guessed (BREACH).
        """
        token = bytes.fromhex(self.csrf_token(digest))
        mask = secrets.token_bytes(len(token))
        return (mask + bytes(map(xor, mask, token))).hex()

    def check_csrf(self, request: HTTPConnection, digest: bytes) -> None:
        """Refuses requests that another site made a browser send."""
        if request.scope["method"] in SAFE:
            return
        self.check_origin(request)
        self.check_csrf_token(request.headers.get(CSRF_HEADER, ""), digest)

    def check_csrf_token(self, given: str, digest: bytes) -> None:
        if not hmac.compare_digest(unmasked(given).encode(), self.csrf_token(digest).encode()):
            raise Forbidden(
                f"Send the csrf_token of your log-in in the header {CSRF_HEADER}: "
                "GET /v1/session shows it."
            )

    def check_origin(self, request: HTTPConnection) -> None:
        origin = request.headers.get("origin")
        if origin is None:
            return  # not a browser, or an old one: only the CSRF token protects
        origin = origin.lower()
        host = request.headers.get("host", "").lower()
        if origin not in {f"http://{host}", f"https://{host}", self._origin or None}:
            raise Forbidden(
                "This request comes from a page of another site. If the page is yours, set "
                "DEEMSTER_PUBLIC_URL to the public address of this judge."
            )


def unmasked(token: str) -> str:
    """A token that is not masked stays as it is."""
    if not MASKED.fullmatch(token):
        return token
    whole = bytes.fromhex(token)
    half = len(whole) // 2
    return bytes(map(xor, whole[:half], whole[half:])).hex()


class Devices:
    """Browsers that logged in before have their own limit for wrong passwords, so that guesses
    of strangers don't lock out the owner of an account. The cookie gives no other right.
    """

    def __init__(self, cookies: Cookies, secret: bytes) -> None:
        self._cookies = cookies
        self._secret = secret

    def identify(self, request: HTTPConnection, name: str, hashed: str | None) -> str | None:
        """Id of the browser; None if nobody logged in there with this name and password."""
        nonce, _, signature = (self._cookies.read(request, DEVICE) or "").partition(".")
        expected = self._sign(name, nonce, hashed or "")
        return nonce if hmac.compare_digest(signature.encode(), expected.encode()) else None

    def remember(self, response: Response, name: str, hashed: str) -> None:
        nonce = secrets.token_urlsafe(18)
        value = f"{nonce}.{self._sign(name, nonce, hashed)}"
        self._cookies.write(response, value, keep_s=DEVICE_KEPT_S, name=DEVICE)

    def _sign(self, name: str, nonce: str, hashed: str) -> str:
        """Includes the password hash, so that a new password invalidates the cookie."""
        text = f"device\n{name.lower()}\n{nonce}\n{hashed}"
        return hmac.new(self._secret, text.encode(), hashlib.sha256).hexdigest()
