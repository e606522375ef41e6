"""Sends one webhook request, only to public addresses, and follows no redirects (H3)."""

import asyncio
import ssl
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import httpcore
import httpx

from deemster import __version__
from deemster.pipeline.deliver.destination import (
    Address,
    Lookup,
    PinnedBackend,
    is_public,
    look_up,
)

RESPONSE_BYTES: Final = 64 * 1024
DRAIN_S: Final = 2.0
PORTS: Final = {"http": 80, "https": 443}
USER_AGENT: Final = f"deemster/{__version__}"


class DeliveryFault(StrEnum):
    """Why an attempt failed, without details of our network (A11)."""

    UNREADABLE = "url_unreadable"
    UNKNOWN_NAME = "name_not_found"
    NOT_ALLOWED = "address_not_allowed"
    NO_CONNECTION = "connection_failed"
    NO_TLS = "tls_failed"
    TIMEOUT = "timeout"
    BROKEN = "connection_broken"
    NO_HTTP = "no_http"
    REDIRECT = "redirect_refused"
    STATUS = "status_not_2xx"
    OURS = "internal"


@dataclass(frozen=True, slots=True)
class Outcome:
    status: int | None
    fault: DeliveryFault | None

    @property
    def is_delivered(self) -> bool:
        return self.fault is None


class Unsendable(Exception):
    def __init__(self, fault: DeliveryFault) -> None:
        super().__init__(fault)
        self.fault = fault


@dataclass(frozen=True, slots=True)
class WebhookRequest:
    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes
    timeout_s: float


class WebhookSender:
    def __init__(
        self,
        *,
        allow_private: bool = False,
        look_up: Lookup = look_up,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._allow_private = allow_private
        self._look_up = look_up
        self._tls = tls or default_tls()

    async def send(self, request: WebhookRequest) -> Outcome:
        try:
            async with asyncio.timeout(request.timeout_s):
                target = target_of(request.url)
                addresses = await self._addresses_of(target)
                status = await self._exchange(request, target, addresses)
        except Unsendable as fault:
            return Outcome(None, fault.fault)
        except (TimeoutError, httpcore.TimeoutException):
            return Outcome(None, DeliveryFault.TIMEOUT)
        except httpcore.ConnectError as fault:
            return Outcome(
                None, DeliveryFault.NO_TLS if is_tls(fault) else DeliveryFault.NO_CONNECTION
            )
        except httpcore.NetworkError:
            return Outcome(None, DeliveryFault.BROKEN)
        except httpcore.ProtocolError:
            return Outcome(None, DeliveryFault.NO_HTTP)
        return Outcome(status, fault_of(status))

    async def _addresses_of(self, target: httpx.URL) -> Sequence[Address]:
        """Resolves the host once: the connection goes to the addresses that were checked."""
        try:
            found = await self._look_up(target.raw_host.decode("ascii"), port_of(target))
        except OSError:
            raise Unsendable(DeliveryFault.UNKNOWN_NAME) from None
        if not found:
            raise Unsendable(DeliveryFault.UNKNOWN_NAME)
        # One private address refuses them all: no host has both by accident.
        if not self._allow_private and not all(map(is_public, found)):
            raise Unsendable(DeliveryFault.NOT_ALLOWED)
        return found

    async def _exchange(
        self, request: WebhookRequest, target: httpx.URL, addresses: Sequence[Address]
    ) -> int:
        # A pool for one request: a connection that is kept open would outlive its check.
        backend = PinnedBackend(addresses, request.timeout_s)
        whole = {
            "Host": target.netloc.decode("ascii"),
            "User-Agent": USER_AGENT,
            "Content-Type": "application/json",
            "Content-Length": str(len(request.body)),
            "Accept": "*/*",
            "Connection": "close",
            **request.headers,
        }
        async with (
            httpcore.AsyncConnectionPool(
                ssl_context=self._tls, network_backend=backend
            ) as connections,
            connections.stream(
                request.method,
                wire_url(target),
                headers=[*whole.items()],
                content=request.body,
            ) as got,
        ):
            await drain(got)
            return got.status


async def drain(response: httpcore.Response) -> None:
    """Reads some of the response, so that the receiver sees no broken connection."""
    size = 0
    # Only the status counts, and it is known.
    with suppress(TimeoutError, httpcore.NetworkError, httpcore.ProtocolError):
        async with asyncio.timeout(DRAIN_S):
            async for chunk in response.aiter_stream():
                size += len(chunk)
                if size > RESPONSE_BYTES:
                    return


def target_of(url: str) -> httpx.URL:
    try:
        target = httpx.URL(url)
    except httpx.InvalidURL:
        raise Unsendable(DeliveryFault.UNREADABLE) from None
    if target.scheme not in PORTS or not target.host or target.port == 0 or target.userinfo:
        raise Unsendable(DeliveryFault.UNREADABLE)
    return target


def port_of(target: httpx.URL) -> int:
    return target.port if target.port is not None else PORTS[target.scheme]


def wire_url(target: httpx.URL) -> httpcore.URL:
    return httpcore.URL(
        scheme=target.raw_scheme,
        host=target.raw_host,
        port=target.port,
        target=target.raw_path,
    )


def fault_of(status: int) -> DeliveryFault | None:
    if 200 <= status < 300:
        return None
    return DeliveryFault.REDIRECT if 300 <= status < 400 else DeliveryFault.STATUS


def is_tls(fault: BaseException | None) -> bool:
    """Looks through the exceptions that libraries wrap around an SSLError."""
    while fault is not None and not isinstance(fault, ssl.SSLError):
        fault = fault.__cause__ or fault.__context__
    return fault is not None


def default_tls() -> ssl.SSLContext:
    """Trusts the bundled certificate authorities and those of this machine."""
    context = httpx.create_ssl_context(trust_env=False)
    context.load_default_certs()
    return context
