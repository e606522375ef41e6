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
from deemster.public_addresses import (
    Address,
    BadDestination,
    Lookup,
    PinnedBackend,
    checked_addresses,
    default_tls,
    is_tls_fault,
    look_up,
    target_of,
    wire_url,
)

RESPONSE_BYTES: Final = 64 * 1024
DRAIN_S: Final = 2.0
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
class SendOutcome:
    status: int | None
    fault: DeliveryFault | None

    @property
    def is_delivered(self) -> bool:
        return self.fault is None


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
        self._tls = tls

    async def send(self, request: WebhookRequest) -> SendOutcome:
        try:
            async with asyncio.timeout(request.timeout_s):
                target = target_of(request.url)
                addresses = await checked_addresses(
                    target, self._look_up, allow_private=self._allow_private
                )
                status = await self._exchange(request, target, addresses)
        except BadDestination as fault:
            return SendOutcome(None, DeliveryFault(fault.fault))
        except (TimeoutError, httpcore.TimeoutException):
            return SendOutcome(None, DeliveryFault.TIMEOUT)
        except httpcore.ConnectError as fault:
            return SendOutcome(
                None,
                DeliveryFault.NO_TLS if is_tls_fault(fault) else DeliveryFault.NO_CONNECTION,
            )
        except httpcore.NetworkError:
            return SendOutcome(None, DeliveryFault.BROKEN)
        except httpcore.ProtocolError:
            return SendOutcome(None, DeliveryFault.NO_HTTP)
        return SendOutcome(status, fault_of(status))

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
                ssl_context=self._tls or default_tls(), network_backend=backend
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


def fault_of(status: int) -> DeliveryFault | None:
    if 200 <= status < 300:
        return None
    return DeliveryFault.REDIRECT if 300 <= status < 400 else DeliveryFault.STATUS
