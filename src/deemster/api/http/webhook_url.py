"""Checks the webhook URL of a request."""

from deemster.api.http.errors import FieldFault, Invalid
from deemster.public_addresses import is_plainly_private
from deemster.settings import Settings


def check_webhook_url(url: str | None, settings: Settings) -> None:
    """Refuses plainly private addresses early; the delivery checks all addresses (H3)."""
    if url is not None and not settings.webhook_allow_private and is_plainly_private(url):
        raise Invalid(
            [FieldFault("webhook_url", "this is a private address: use a public one")]
        )
