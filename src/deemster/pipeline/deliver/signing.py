"""Secrets of accounts for their webhooks, made when needed, and what they sign (H2)."""

import base64
import hashlib
import hmac
from dataclasses import dataclass
from datetime import datetime
from math import floor
from typing import Final

from standardwebhooks import Webhook

from deemster.domain.ids import AccountId

PREFIX: Final = "whsec_"


@dataclass(frozen=True, slots=True, repr=False)
class SigningKeys:
    """From the installation's secret; none is kept anywhere."""

    secret: bytes

    def of(self, account: AccountId, generation: int) -> bytes:
        purpose = f"webhook:{account}:{generation}".encode()
        return hmac.digest(self.secret, purpose, hashlib.sha256)

    def shown(self, account: AccountId, generation: int) -> str:
        """As its owner copies it."""
        return PREFIX + base64.b64encode(self.of(account, generation)).decode()


def signed(keys: list[bytes], message_id: str, at: datetime, body: bytes) -> dict[str, str]:
    """The headers that prove a body; the newest key first, and all of them good."""
    text = body.decode()
    signatures = [Webhook(key).sign(message_id, at, text) for key in keys]
    return {
        "webhook-id": message_id,
        "webhook-timestamp": str(floor(at.timestamp())),
        "webhook-signature": " ".join(signatures),
        "X-Judge-Signature": f"sha256={hmac.new(keys[0], body, hashlib.sha256).hexdigest()}",
    }
