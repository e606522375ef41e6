"""The families of errors: refused, unavailable for now, and a lost race."""

from typing import ClassVar


class DeemsterError(Exception):
    """Base of all errors; a program that fails is a verdict, never an error."""

    code: ClassVar[str] = "error"


class Refused(DeemsterError):
    """The request is wrong; the message says what the caller must change."""

    code: ClassVar[str] = "refused"


class NotFound(Refused):
    """The object does not exist, or this caller may not see it."""

    code: ClassVar[str] = "not_found"


class Conflict(Refused):
    """The object's present state does not allow the operation."""

    code: ClassVar[str] = "conflict"


class LimitReached(Refused):
    """The caller reached a rate limit, a quota or a bound on concurrency."""

    code: ClassVar[str] = "enough"

    def __init__(
        self,
        message: str,
        retry_after_s: float = 1.0,
        *,
        limit: int | None = None,
        limit_name: str | None = None,
    ) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s
        self.limit = limit
        """The limit that was reached, if the caller may know it."""
        self.limit_name = limit_name
        """Which limit it was, for the log."""


class Unavailable(DeemsterError):
    """The operation failed for now; a later attempt may succeed."""

    code: ClassVar[str] = "unavailable"


class LostRace(DeemsterError):
    """Another process was first; the work is dropped without a message."""

    code: ClassVar[str] = "lost_race"
