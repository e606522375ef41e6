"""The installation's secret key, from which all signing keys are derived (O7)."""

import asyncio
import hashlib
import secrets
from contextlib import suppress
from pathlib import Path
from typing import Final

import structlog

from deemster.domain.errors import Refused, Unavailable
from deemster.private_file import write_private
from deemster.settings import Settings
from deemster.store.installation import check_secret
from deemster.store.pool import Connection, Pool, connection
from deemster.wiring.resources import revealed

SECRET_FILE: Final = "secret.key"  # noqa: S105 - a file's name
MIN_LENGTH: Final = 16
RETRY_S: Final = 1.0

log = structlog.get_logger()


async def open_secret(settings: Settings, pool: Pool) -> bytes:
    """Refuses a key that differs from the one that other machines of the installation use.

    Waits for the database: a role must not end because the database is down when it starts.
    """
    while True:
        try:
            async with connection(pool) as acquired:
                return await checked_secret(settings, acquired)
        except Unavailable as fault:
            log.warning("database.unavailable", error=str(fault), again_in_s=RETRY_S)
            await asyncio.sleep(RETRY_S)


async def checked_secret(settings: Settings, acquired: Connection) -> bytes:
    secret = secret_of(settings)
    fingerprint = hashlib.sha256(b"deemster fingerprint " + secret).hexdigest()
    await check_secret(acquired, fingerprint)
    return secret


def secret_of(settings: Settings) -> bytes:
    """Returns the key of the settings, or that of the data directory, made if missing."""
    given = revealed(settings.secret_key)
    if given is not None:
        return check_length(given, "DEEMSTER_SECRET_KEY")
    path = settings.data_dir / SECRET_FILE
    if not path.exists():
        make_secret(path)
    return check_length(path.read_text(encoding="utf-8").strip(), str(path))


def check_length(secret: str, where: str) -> bytes:
    """Refuses an empty variable or file, with which anyone could sign."""
    if len(secret) < MIN_LENGTH:
        raise Refused(
            f"The secret key in {where} has {len(secret)} characters: use at least "
            f"{MIN_LENGTH} random characters, or remove it to have one generated."
        )
    return secret.encode()


def make_secret(path: Path) -> None:
    """Writes a new key; if several processes do so at once, the first one wins."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with suppress(FileExistsError):
        write_private(path, secrets.token_urlsafe(48), replace=False)
