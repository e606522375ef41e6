"""Reads a large upload into a file, up to a maximum size and within a time limit (D3)."""

import asyncio
import hashlib
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final

from starlette.requests import Request

from deemster.api.http.body import announces_more_than, media_type_of, next_chunk
from deemster.api.http.errors import TooLarge, TooSlow, WrongMedia
from deemster.domain.errors import Unavailable
from deemster.domain.limits import MIB

ARCHIVES: Final = (
    "application/zip",
    "application/x-tar",
    "application/gzip",
    "application/octet-stream",
)
UPLOAD_TIMEOUT_S: Final = 900.0
CHUNK_TIMEOUT_S: Final = 30.0
SLOW_S: Final = 30.0
"""After this time, uploads must have arrived with SLOWEST_BYTES_PER_S on average."""
SLOWEST_BYTES_PER_S: Final = 16 * 1024
WRITE_BYTES: Final = 1 * MIB
"""Written at a time: a thread for each small chunk would cost more than the writing."""


def check_archive(request: Request, max_bytes: int) -> None:
    """Checks the headers, before any of the archive is read."""
    if media_type_of(request) not in ARCHIVES:
        raise WrongMedia(
            f"Send the archive as the body, with Content-Type: {' or '.join(ARCHIVES)}."
        )
    if announces_more_than(request, max_bytes):
        raise too_large(max_bytes)


async def receive_into(request: Request, file: Path, max_bytes: int) -> str:
    """Returns the SHA-256 of the upload, in hex."""
    digest = hashlib.sha256()
    try:
        async with asyncio.timeout(UPLOAD_TIMEOUT_S):
            with file.open("xb") as stream:

                def write(part: bytes) -> None:
                    digest.update(part)
                    stream.write(part)

                async for part in parts_of(request, max_bytes):
                    await asyncio.to_thread(write, part)
    except TimeoutError:
        raise TooSlow(
            f"The archive took longer than {UPLOAD_TIMEOUT_S:.0f} s to arrive, or nothing "
            f"arrived for {CHUNK_TIMEOUT_S:.0f} s, or less than "
            f"{SLOWEST_BYTES_PER_S // 1024} KB per second."
        ) from None
    except OSError as fault:
        raise Unavailable(
            f"The archive can't be stored ({fault.strerror}): free some disk space."
        ) from fault
    return digest.hexdigest()


async def parts_of(request: Request, max_bytes: int) -> AsyncIterator[bytes]:
    buffer = bytearray()
    total, more = 0, True
    started_s = time.monotonic()
    while more:
        async with asyncio.timeout(CHUNK_TIMEOUT_S):
            chunk, more = await next_chunk(request)
        total += len(chunk)
        if total > max_bytes:
            raise too_large(max_bytes)
        took_s = time.monotonic() - started_s
        if more and took_s > SLOW_S and total < took_s * SLOWEST_BYTES_PER_S:
            raise TimeoutError
        buffer += chunk
        if len(buffer) >= WRITE_BYTES or not more:
            yield bytes(buffer)
            buffer.clear()


def too_large(max_bytes: int) -> TooLarge:
    return TooLarge(
        f"The archive has more than {max_bytes // MIB:,} MB: leave out files that the problem "
        "does not need."
    )
