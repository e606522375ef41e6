"""Makes the requests of heng's callbacks, with its signature if the operator wants it (M6)."""

import json
import secrets
from dataclasses import dataclass
from math import floor
from typing import Final
from urllib.parse import urlsplit

from deemster.domain.heng_signature import (
    ACCESS_KEY,
    CONTENT_TYPE,
    NONCE,
    SIGNATURE,
    TIMESTAMP,
    secret_key_of,
    signature_of,
)
from deemster.domain.request_signature import SignedRequest
from deemster.domain.submission import SubmissionView
from deemster.pipeline.deliver.heng_result import STATES, finish_body, update_body
from deemster.pipeline.deliver.sender import WebhookRequest
from deemster.store.artifacts import Artifacts
from deemster.store.inline_artifacts import fetch
from deemster.store.pool import Pool, connection
from deemster.store.webhooks import ClaimedDelivery, HengCallback

METHOD: Final = "POST"
MEDIA_TYPE: Final = "application/json;charset=utf-8"


@dataclass(frozen=True, slots=True, repr=False)
class HengCallbacks:
    pool: Pool
    artifacts: Artifacts
    signing_secret: bytes | None = None
    """Secret of the installation; None: callbacks are not signed, as those of the original."""

    async def request_of(self, claimed: ClaimedDelivery, timeout_s: float) -> WebhookRequest:
        task, submission = claimed.heng, claimed.subject
        assert task is not None, "the format of heng is only that of heng tasks"
        assert isinstance(submission, SubmissionView), "a heng task is a submission"
        if claimed.kind in STATES:
            body = update_body(claimed.kind)
        else:
            body = await self._finish(submission, task)
        headers = self._headers(claimed, task, body)
        return WebhookRequest(METHOD, claimed.url, headers, body, timeout_s)

    async def _finish(self, submission: SubmissionView, task: HengCallback) -> bytes:
        jury = None
        if task.jury is not None:
            async with connection(self.pool) as reading:
                jury = json.loads(await fetch(reading, self.artifacts, task.jury))
        return finish_body(submission, jury, cases=task.cases, message_bytes=task.message_bytes)

    def _headers(
        self, claimed: ClaimedDelivery, task: HengCallback, body: bytes
    ) -> dict[str, str]:
        unsigned = {"Content-Type": MEDIA_TYPE}
        if self.signing_secret is None:
            return unsigned
        url = urlsplit(claimed.url)
        signed = {
            ACCESS_KEY: task.access_key,
            NONCE: secrets.token_hex(16),
            TIMESTAMP: str(floor(claimed.at.timestamp())),
        }
        request = SignedRequest(
            METHOD, url.path or "/", url.query, {CONTENT_TYPE: MEDIA_TYPE, **signed}, body
        )
        secret_key = secret_key_of(self.signing_secret, task.access_key)
        return {**unsigned, **signed, SIGNATURE: signature_of(secret_key, request)}
