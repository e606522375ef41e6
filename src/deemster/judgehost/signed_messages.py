"""Checks messages that the server has signed, and accepts none twice (M1)."""

import time
from collections.abc import Callable
from typing import Final

from cachetools import TTLCache

from deemster.domain.request_signature import (
    NONCE,
    NONCE_KEPT_S,
    SignatureFault,
    SignedRequest,
    find_fault,
)

MAX_NONCES: Final = 1_000_000


class SignedMessages:
    """Checks messages that the server has signed with the key of this host."""

    def __init__(self, secret: bytes, clock: Callable[[], float] = time.time) -> None:
        self._secret = secret
        self._clock = clock
        self._seen: TTLCache[str, None] = TTLCache(MAX_NONCES, NONCE_KEPT_S)

    def fault_of(self, message: SignedRequest) -> SignatureFault | None:
        """None: the message is genuine, young and new."""
        fault = find_fault(self._secret, message, now_s=self._clock())
        if fault is not None:
            return fault
        nonce = message.headers[NONCE]
        if nonce in self._seen:
            return SignatureFault.REPLAYED
        self._seen[nonce] = None
        return None
