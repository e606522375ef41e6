"""The formats in which a webhook tells that a submission or an execution has ended."""

from enum import StrEnum


class WebhookFormat(StrEnum):
    STANDARD = "standard"
    """A POST with `type`, `timestamp` and `data`."""
    JUDGE0 = "judge0"
    """A callback of Judge0: a PUT with the fields of a submission."""
