"""Keeps test data on disk, encrypted with a key that only this process has, in memory (M1).

Each file is a salt and chunks of AES-256-GCM. The key of a file is derived from the process's
key and the salt, so the numbers of the chunks can be the nonces. File names are random. When
the process ends, nobody can read its files any more: the next process removes them.
"""

import hashlib
import hmac
import secrets
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import BinaryIO, Final, Self

import structlog
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from deemster.directory_store import create, remove, sweep
from deemster.domain.limits import MIB

log = structlog.get_logger()

CHUNK_BYTES: Final = MIB
SALT_BYTES: Final = 32
TAG_BYTES: Final = 16
MORE, LAST = b"more", b"last"
"""Authenticated with each chunk, so that a file that was cut is not taken for a whole one."""


@dataclass(frozen=True, slots=True)
class CachedFile:
    name: str
    size_bytes: int


class EncryptedCache:
    """All methods block: call them in a thread."""

    def __init__(self, directory: Path, max_bytes: int) -> None:
        self._directory = directory
        self._max_bytes = max_bytes
        self._key = secrets.token_bytes(32)
        self._files: OrderedDict[str, CachedFile] = OrderedDict()
        """By digest of the content, least recently used first."""
        self._lock = Lock()

    @classmethod
    @contextmanager
    def open(cls, root: Path, max_bytes: int) -> Iterator[Self]:
        """Removes what processes left that have ended."""
        sweep(root)
        directory, lock = create(root)
        try:
            yield cls(directory, max_bytes)
        finally:
            remove(directory, lock)

    @property
    def digests(self) -> list[str]:
        with self._lock:
            return list(self._files)

    def put(self, digest: str, path: Path) -> None:
        """Keeps a copy of the file, if it is not too large; others may have to go."""
        needed = encrypted_size(path.stat().st_size)
        if needed > self._max_bytes or digest in self._files:
            return
        self._evict(self._max_bytes - needed)
        name = secrets.token_hex(16)
        try:
            with path.open("rb") as source, (self._directory / name).open("xb") as target:
                encrypt(self._key, source, target)
        except OSError as fault:  # the cache only saves time
            log.warning("judgehost.not_cached", error=str(fault))
            (self._directory / name).unlink(missing_ok=True)
            return
        with self._lock:
            self._files[digest] = CachedFile(name, needed)

    def get(self, digest: str, target: Path) -> bool:
        """Writes the content to a new file; False: it is not here, or it is damaged."""
        with self._lock:
            found = self._files.get(digest)
            if found is None:
                return False
            self._files.move_to_end(digest)
        try:
            with (self._directory / found.name).open("rb") as source, target.open("xb") as file:
                decrypt(self._key, source, file)
        except (OSError, InvalidTag) as fault:
            log.warning("judgehost.cache_damaged", error=str(fault) or "InvalidTag")
            target.unlink(missing_ok=True)
            self._drop(digest)
            return False
        return True

    def _evict(self, max_bytes: int) -> None:
        with self._lock:
            sizes = {digest: each.size_bytes for digest, each in self._files.items()}
        total = sum(sizes.values())
        for digest, size_bytes in sizes.items():
            if total <= max_bytes:
                return
            self._drop(digest)
            total -= size_bytes

    def _drop(self, digest: str) -> None:
        with self._lock:
            found = self._files.pop(digest, None)
        if found is not None:
            (self._directory / found.name).unlink(missing_ok=True)


def encrypt(key: bytes, source: BinaryIO, target: BinaryIO) -> None:
    salt = secrets.token_bytes(SALT_BYTES)
    target.write(salt)
    cipher = cipher_of(key, salt)
    number, chunk = 0, source.read(CHUNK_BYTES)
    while True:
        following = source.read(CHUNK_BYTES)
        target.write(cipher.encrypt(nonce_of(number), chunk, MORE if following else LAST))
        if not following:
            return
        number, chunk = number + 1, following


def decrypt(key: bytes, source: BinaryIO, target: BinaryIO) -> None:
    """Raises InvalidTag if the file is not as `encrypt` wrote it."""
    cipher = cipher_of(key, source.read(SALT_BYTES))
    number, chunk = 0, source.read(CHUNK_BYTES + TAG_BYTES)
    while True:
        following = source.read(CHUNK_BYTES + TAG_BYTES)
        target.write(cipher.decrypt(nonce_of(number), chunk, MORE if following else LAST))
        if not following:
            return
        number, chunk = number + 1, following


def cipher_of(key: bytes, salt: bytes) -> AESGCM:
    return AESGCM(hmac.new(key, salt, hashlib.sha256).digest())


def nonce_of(number: int) -> bytes:
    return number.to_bytes(12, "big")


def encrypted_size(size_bytes: int) -> int:
    chunks = max(1, -(-size_bytes // CHUNK_BYTES))
    return SALT_BYTES + size_bytes + chunks * TAG_BYTES
