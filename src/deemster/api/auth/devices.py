"""Browsers that someone logged in from: what strangers guess does not shut these out (O6)."""

import hashlib
import hmac
import secrets
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from deemster.api.auth.cookies import Cookies

COOKIE: Final = "deemster_device"
KEPT_S: Final = 180 * 24 * 3600


class Devices:
    """By a cookie that is no log-in: who shows it may only guess at its one name, and apart."""

    def __init__(self, cookies: Cookies, secret: bytes) -> None:
        self._cookies = cookies
        self._secret = secret

    def known(self, request: Request, name: str, hashed: str | None) -> str | None:
        """Which browser it is; None: one from where nobody logged in by that name and hash."""
        nonce, _, seal = (self._cookies.read(request, COOKIE) or "").partition(".")
        wanted = self._seal(name, nonce, hashed or "")
        return nonce if hmac.compare_digest(seal.encode(), wanted.encode()) else None

    def remember(self, response: Response, name: str, hashed: str) -> None:
        nonce = secrets.token_urlsafe(18)
        value = f"{nonce}.{self._seal(name, nonce, hashed)}"
        self._cookies.write(response, value, keep_s=KEPT_S, name=COOKIE)

    def _seal(self, name: str, nonce: str, hashed: str) -> str:
        """Of the password's hash too: with a new password all old ones are worthless."""
        text = f"device\n{name.lower()}\n{nonce}\n{hashed}"
        return hmac.new(self._secret, text.encode(), hashlib.sha256).hexdigest()
