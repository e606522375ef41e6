"""Signed links to test data: for one host and one task, and for a short time (M1)."""

import hashlib
import hmac
import time
from collections.abc import Callable
from typing import Final
from urllib.parse import urlencode

from deemster.domain.judge_host import JudgeHostId, JudgeId

PATH: Final = "/v1/judgehost/data/"
VALID_S: Final = 600
"""Large test data may wait for others before a host begins to fetch it."""


class DataLinks:
    def __init__(self, secret: bytes, *, clock: Callable[[], float] = time.time) -> None:
        self._key = hmac.new(secret, b"deemster test data links", hashlib.sha256).digest()
        self._clock = clock

    def link(self, host: JudgeHostId, judge_id: JudgeId, digest: str) -> str:
        """The path and query below the URL of the server."""
        expires = int(self._clock()) + VALID_S
        signature = self._signature(host, judge_id, digest, expires)
        query = urlencode({"judge": judge_id, "expires": expires, "signature": signature})
        return f"{PATH}{digest}?{query}"

    def is_valid(
        self, host: JudgeHostId, judge_id: str, digest: str, expires: int, signature: str
    ) -> bool:
        wanted = self._signature(host, judge_id, digest, expires)
        is_signed = hmac.compare_digest(wanted.encode(), signature.encode())
        return is_signed and self._clock() < expires

    def _signature(self, host: str, judge_id: str, digest: str, expires: int) -> str:
        text = f"{host}\n{judge_id}\n{digest}\n{expires}\n".encode()
        return hmac.new(self._key, text, hashlib.sha256).hexdigest()
