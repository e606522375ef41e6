"""The installation's secret, from which all that is signed gets its key (O7)."""

import asyncio
import hashlib
import os
import secrets
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Final

import structlog

from deemster.domain.errors import Refused, Unavailable
from deemster.settings import Settings
from deemster.store.installation import check_secret
from deemster.store.pool import Pool, connection
from deemster.wiring.service import revealed

SECRET_FILE: Final = "secret.key"  # noqa: S105 - a file's name
LEAST_LETTERS: Final = 16
RETRY_S: Final = 1.0

log = structlog.get_logger()


async def open_secret(settings: Settings, pool: Pool) -> bytes:
    """The same on all machines of an installation: another one is refused.

    Waits for the database: a role must not end because the database is away when it starts.
    """
    secret = secret_of(settings)
    fingerprint = hashlib.sha256(b"deemster fingerprint " + secret).hexdigest()
    while True:
        try:
            async with connection(pool) as acquired:
                await check_secret(acquired, fingerprint)
                return secret
        except Unavailable as fault:
            log.warning("database.unavailable", error=str(fault), again_in_s=RETRY_S)
            await asyncio.sleep(RETRY_S)


def secret_of(settings: Settings) -> bytes:
    """That of the settings; else the one in data_dir, made if there is none."""
    given = revealed(settings.secret_key)
    if given is not None:
        return long_enough(given, "DEEMSTER_SECRET_KEY")
    path = settings.data_dir / SECRET_FILE
    if not path.exists():
        make_secret(path)
    return long_enough(path.read_text(encoding="utf-8").strip(), str(path))


def long_enough(secret: str, where: str) -> bytes:
    """An empty variable, or a file that was never written, would let anyone sign."""
    if len(secret) < LEAST_LETTERS:
        raise Refused(
            f"The secret key in {where} has {len(secret)} characters: give it at least "
            f"{LEAST_LETTERS}, by chance, or leave it out to have one made."
        )
    return secret.encode()


def make_secret(path: Path) -> None:
    """Of several who make one at once, the first wins."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(secrets.token_urlsafe(48) + "\n")
            file.flush()
            os.fsync(file.fileno())
        with suppress(FileExistsError):
            os.link(name, path)
    finally:
        Path(name).unlink(missing_ok=True)
