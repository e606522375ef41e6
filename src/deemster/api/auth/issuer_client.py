"""Requests JSON from an issuer, with limits on size and time."""

import asyncio
import json
import ssl
from collections.abc import Mapping
from functools import cache
from typing import Any, ClassVar, Final

import httpx

from deemster.domain.errors import Unavailable

TIMEOUT_S: Final = 8.0
MAX_BYTES: Final = 1024 * 1024


class IssuerDown(Unavailable):
    code: ClassVar[str] = "issuer_down"


async def fetch(
    url: str,
    form: Mapping[str, str] | None = None,
    *,
    auth: tuple[str, str] | None = None,
) -> tuple[int, dict[str, Any]]:
    """Sends POST if there is a form, else GET; returns the status and the JSON object."""
    try:
        async with (
            asyncio.timeout(TIMEOUT_S),
            httpx.AsyncClient(trust_env=False, timeout=TIMEOUT_S, verify=tls()) as client,
            client.stream(
                "GET" if form is None else "POST",
                url,
                data=form,
                auth=auth,
                headers={"Accept": "application/json"},
            ) as answer,
        ):
            content = b""
            async for piece in answer.aiter_bytes():
                content += piece
                if len(content) > MAX_BYTES:
                    raise IssuerDown(f"The issuer's response from {url} is too long.")
        found = json.loads(content)
    except (httpx.HTTPError, httpx.InvalidURL, TimeoutError, ValueError, RecursionError) as why:
        raise IssuerDown(
            f"The issuer did not answer at {url} ({type(why).__name__}: {why})."
        ) from why
    if not isinstance(found, dict):
        raise IssuerDown(f"The issuer's response from {url} is not a JSON object.")
    return answer.status_code, found


async def fetch_document(url: str) -> dict[str, Any]:
    status, found = await fetch(url)
    if status != httpx.codes.OK:
        raise IssuerDown(f"The issuer answered {status} at {url}.")
    return found


@cache
def tls() -> ssl.SSLContext:
    """Cached, because reading all certificates is slow."""
    return httpx.create_ssl_context(trust_env=False)
