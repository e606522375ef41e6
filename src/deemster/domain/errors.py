"""The three families of error: the caller's fault, not available now, and a lost race."""

from typing import ClassVar


class DeemsterError(Exception):
    """Something that Deemster itself answers for; a failing program is never one."""

    code: ClassVar[str] = "error"


class Refused(DeemsterError):
    """The caller asked for something that can't be had; the message says what to change."""

    code: ClassVar[str] = "refused"


class NotFound(Refused):
    """There is no such thing, or it is not for this caller to see."""

    code: ClassVar[str] = "not_found"


class Conflict(Refused):
    """It is not in a state in which that can be done."""

    code: ClassVar[str] = "conflict"


class LimitReached(Refused):
    """It could be had, but not so much of it, or not so soon."""

    code: ClassVar[str] = "enough"

    def __init__(
        self, message: str, retry_after_s: float = 1.0, *, limit: int | None = None
    ) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s
        self.limit = limit
        """That may be had."""


class Unavailable(DeemsterError):
    """It did not work this time and may work on another try."""

    code: ClassVar[str] = "unavailable"


class LostRace(DeemsterError):
    """Someone else was first; drop the work quietly."""

    code: ClassVar[str] = "lost_race"
