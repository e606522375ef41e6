"""The cookie of a log-in, and the proof that a request with it was meant (CSRF)."""

import hashlib
import hmac
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from deemster.api.http.errors import Forbidden
from deemster.settings import Settings

SESSION: Final = "deemster_session"
CSRF_HEADER: Final = "X-CSRF-Token"
SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})


class Cookies:
    def __init__(self, settings: Settings, secret: bytes) -> None:
        self._secret = secret
        public = (settings.public_url or "").lower()
        self._secure = public.startswith("https://")
        self._origin = "/".join(public.split("/")[:3])
        # A browser takes this name from no other host and over no plain connection.
        self._prefix = "__Host-" if self._secure else ""

    def read(self, request: Request, name: str = SESSION) -> str | None:
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
        """Of a log-in: another site can make a browser send the cookie, but can't read this."""
        return hmac.new(self._secret, b"csrf:" + digest, hashlib.sha256).hexdigest()

    def check_meant(self, request: Request, digest: bytes) -> None:
        """Refuses what another site made a browser ask for."""
        if request.method in SAFE:
            return
        self.check_origin(request)
        given = request.headers.get(CSRF_HEADER, "").encode()
        if not hmac.compare_digest(given, self.csrf_token(digest).encode()):
            raise Forbidden(
                f"Send the csrf_token of your log-in (GET /v1/session) in the header "
                f"{CSRF_HEADER}."
            )

    def check_origin(self, request: Request) -> None:
        origin = request.headers.get("origin")
        if origin is None:
            return  # no browser, or an old one: the token must do
        origin = origin.lower()
        host = request.headers.get("host", "").lower()
        if origin not in {f"http://{host}", f"https://{host}", self._origin or None}:
            raise Forbidden(
                "This request comes from a page of another site. If it is your own, set "
                "DEEMSTER_PUBLIC_URL to the address by which people reach this judge."
            )
