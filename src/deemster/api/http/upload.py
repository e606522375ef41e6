"""Reads a large body into a file: counted as it comes, and never waited for too long (D3)."""

import asyncio
import hashlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final

from starlette.requests import Request

from deemster.api.http.body import MOST_DIGITS, next_chunk
from deemster.api.http.errors import TooLarge, TooSlow, WrongMedia
from deemster.domain.errors import Unavailable
from deemster.domain.limits import MIB

ARCHIVES: Final = (
    "application/zip",
    "application/x-tar",
    "application/gzip",
    "application/octet-stream",
)
UPLOAD_S: Final = 900.0
"""For all of it."""
SILENCE_S: Final = 30.0
"""Between two pieces."""
WRITE_BYTES: Final = 1 * MIB
"""Written at once: a thread for each piece that comes would cost more than the writing."""


def check_archive(request: Request, most_bytes: int) -> None:
    """Before anything of it is read."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in ARCHIVES:
        raise WrongMedia(
            f"Send the archive itself, with Content-Type: {' or '.join(ARCHIVES)}."
        )
    length = request.headers.get("content-length", "")
    if length.isdecimal() and (len(length) > MOST_DIGITS or int(length) > most_bytes):
        raise too_large(most_bytes)


async def receive_into(request: Request, file: Path, most_bytes: int) -> str:
    """The hash of what came, in hex."""
    digest = hashlib.sha256()
    try:
        async with asyncio.timeout(UPLOAD_S):
            with file.open("xb") as stream:

                def keep(part: bytes) -> None:
                    digest.update(part)
                    stream.write(part)

                async for part in parts_of(request, most_bytes):
                    await asyncio.to_thread(keep, part)
    except TimeoutError:
        raise TooSlow(
            f"The archive took longer than {UPLOAD_S:.0f} s to arrive, or nothing came for "
            f"{SILENCE_S:.0f} s."
        ) from None
    except OSError as fault:
        raise Unavailable(
            f"The archive can't be kept ({fault.strerror}): make room."
        ) from fault
    return digest.hexdigest()


async def parts_of(request: Request, most_bytes: int) -> AsyncIterator[bytes]:
    held = bytearray()
    total, more = 0, True
    while more:
        async with asyncio.timeout(SILENCE_S):
            chunk, more = await next_chunk(request)
        total += len(chunk)
        if total > most_bytes:
            raise too_large(most_bytes)
        held += chunk
        if len(held) >= WRITE_BYTES or not more:
            yield bytes(held)
            held.clear()


def too_large(most_bytes: int) -> TooLarge:
    return TooLarge(
        f"An archive may have {most_bytes // MIB:,} MB: leave out what isn't needed."
    )
