"""What this process remembers: the answers used last, up to a number of bytes."""

from collections import OrderedDict
from dataclasses import dataclass
from hashlib import blake2b
from typing import Final

MOST_BYTES: Final = 64 << 20
OVERHEAD_BYTES: Final = 500
"""Of an entry, besides its key and its body."""


@dataclass(frozen=True, slots=True)
class CacheEntry:
    body: bytes | None
    """None: there is nothing."""
    etag: str
    """Of exactly these bytes."""
    fresh_until_s: float
    kept_until_s: float


class MemoryCache:
    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._known: OrderedDict[str, CacheEntry] = OrderedDict()
        self.bytes = 0

    def get(self, key: str, now_s: float) -> CacheEntry | None:
        entry = self._known.get(key)
        if entry is None:
            return None
        if entry.kept_until_s <= now_s:
            self._drop(key)
            return None
        self._known.move_to_end(key)
        return entry

    def put(self, key: str, entry: CacheEntry) -> None:
        self._drop(key)
        self._known[key] = entry
        self.bytes += size_of(key, entry)
        while self.bytes > self._most_bytes:
            self._drop(next(iter(self._known)))

    def _drop(self, key: str) -> None:
        entry = self._known.pop(key, None)
        if entry is not None:
            self.bytes -= size_of(key, entry)


def size_of(key: str, entry: CacheEntry) -> int:
    return len(key) + len(entry.body or b"") + OVERHEAD_BYTES


def etag_of(body: bytes) -> str:
    return f'"{blake2b(body, digest_size=12).hexdigest()}"'
