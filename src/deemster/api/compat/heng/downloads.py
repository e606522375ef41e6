"""Fetches the files of a task, only from public addresses, with a bound on their size (H3)."""

import asyncio
import hashlib
from dataclasses import dataclass
from typing import IO, Final

import httpcore

from deemster.api.compat.heng.task import DirectFile, TaskFile, UrlFile
from deemster.domain.errors import Refused
from deemster.public_addresses import (
    BadDestination,
    DestinationFault,
    Lookup,
    look_up,
    open_response,
)

CONNECT_S: Final = 10.0
REASONS: Final = {
    DestinationFault.UNREADABLE: "the URL can't be read",
    DestinationFault.UNKNOWN_NAME: "the host of the URL is not known",
    DestinationFault.NOT_ALLOWED: "the URL leads to a private address",
}


@dataclass(frozen=True, slots=True)
class Downloads:
    """The caller sets the time limit."""

    allow_private: bool
    look_up: Lookup = look_up

    async def fetch(self, file: UrlFile, stream: IO[bytes], max_bytes: int, where: str) -> str:
        """Writes the file and returns its SHA-256. `where` is its path in the request."""
        try:
            digest = await self._fetch(file.url, stream, max_bytes, where)
        except BadDestination as fault:
            raise Refused(f"{where}.url: {REASONS[fault.fault]}.") from None
        except (httpcore.NetworkError, httpcore.ProtocolError, httpcore.TimeoutException):
            raise Refused(f"{where}.url: the file could not be fetched.") from None
        check_hashsum(file, digest, where)
        return digest

    async def _fetch(self, url: str, stream: IO[bytes], max_bytes: int, where: str) -> str:
        found, size = hashlib.sha256(), 0
        async with open_response(
            "GET",
            url,
            {},
            connect_s=CONNECT_S,
            look_up=self.look_up,
            allow_private=self.allow_private,
        ) as response:
            if response.status != 200:
                raise Refused(f"{where}.url: the server answered {response.status}, not 200.")
            async for chunk in response.aiter_stream():
                size += len(chunk)
                if size > max_bytes:
                    raise Refused(f"{where}.url: the file has more than {max_bytes:,} bytes.")
                found.update(chunk)
                await asyncio.to_thread(stream.write, chunk)
        return found.hexdigest()


def known_digest(file: TaskFile, where: str) -> str | None:
    """The SHA-256 of a file; None: only its content will tell."""
    if isinstance(file, UrlFile):
        return file.hashsum
    digest = hashlib.sha256(content_of(file)).hexdigest()
    check_hashsum(file, digest, where)
    return digest


def content_of(file: DirectFile) -> bytes:
    return file.content.encode()


def check_hashsum(file: TaskFile, digest: str, where: str) -> None:
    if file.hashsum is not None and file.hashsum != digest:
        raise Refused(f"{where}.hashsum: the file has another SHA-256, {digest}.")
