"""The formats in which a webhook tells about a submission or an execution."""

from enum import StrEnum


class WebhookFormat(StrEnum):
    STANDARD = "standard"
    """A POST with `type`, `timestamp` and `data`."""
    HENG = "heng"
    """A callback of heng: a POST with `state` or `result`."""
    JUDGE0 = "judge0"
    """A callback of Judge0: a PUT with the fields of a submission."""
