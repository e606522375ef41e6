"""The server that a client talks to: its URL and token, by argument or from the environment."""

import ssl
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import Any

import httpx

from deemster import __version__


@dataclass(frozen=True, slots=True)
class Endpoint:
    url: str
    token: str = field(repr=False)

    @property
    def headers(self) -> dict[str, str]:
        return {
            "Authorization": f"Bearer {self.token}",
            "User-Agent": f"deemster-client/{__version__}",
        }

    @property
    def is_local(self) -> bool:
        return is_local(self.url)

    def http_options(self) -> dict[str, Any]:
        """Options of `httpx.Client` and `httpx.AsyncClient`."""
        return {
            "base_url": self.url,
            "headers": self.headers,
            "trust_env": not self.is_local,  # no proxy for this machine itself
            "verify": tls_for(self.url),
        }


def tls_for(url: str) -> ssl.SSLContext | bool:
    """What httpx is to verify. To load certificates takes 20 ms, so no http:// URL does it: if
    TLS is used all the same, no certificate is trusted.
    """
    plain = httpx.URL(url).scheme == "http"
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) if plain else True


def find_endpoint(url: str | None, token: str | None) -> Endpoint:
    """What is None comes from DEEMSTER_URL and DEEMSTER_TOKEN."""
    if url is None or token is None:
        # Only the settings read the environment; importing them takes longer than this package.
        from deemster.settings import server_of_client  # noqa: PLC0415

        found = server_of_client()
        url, token = url or found.url, token or found.token
    if not token:
        raise ValueError(f"{url} needs a token: pass one, or set DEEMSTER_TOKEN.")
    token = token.strip()
    if not (token.isascii() and token.isprintable()):
        raise ValueError("The token has characters that no token of Deemster has.")
    check_url(url)
    return Endpoint(url.rstrip("/"), token)


def check_url(url: str) -> None:
    try:
        parsed = httpx.URL(url)
    except httpx.InvalidURL as fault:
        raise ValueError(f"{url} is not a valid URL ({fault}).") from fault
    if parsed.scheme not in {"http", "https"} or not parsed.host:
        raise ValueError(f"{url} is not a valid URL of a server.")


def is_local(url: str) -> bool:
    host = httpx.URL(url).host
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
