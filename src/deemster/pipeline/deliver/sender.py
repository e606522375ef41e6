"""Sends one webhook request, only to public addresses, and follows no redirects (H3)."""

import asyncio
import ssl
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import httpcore

from deemster.public_addresses import (
    BadDestination,
    Lookup,
    is_tls_fault,
    look_up,
    open_response,
)

RESPONSE_BYTES: Final = 64 * 1024
DRAIN_S: Final = 2.0


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
                status = await self._exchange(request)
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

    async def _exchange(self, request: WebhookRequest) -> int:
        async with open_response(
            request.method,
            request.url,
            {"Content-Type": "application/json", **request.headers},
            request.body,
            connect_s=request.timeout_s,
            look_up=self._look_up,
            allow_private=self._allow_private,
            tls=self._tls,
        ) as response:
            await drain(response)
            return response.status


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
