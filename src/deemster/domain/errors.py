"""The three families of error: the caller's fault, not available now, and a lost race."""

from typing import ClassVar


class DeemsterError(Exception):
    """Something that Deemster itself answers for; a failing program is never one."""

    code: ClassVar[str] = "error"


class Refused(DeemsterError):
    """The caller asked for something that can't be had; the message says what to change."""

    code: ClassVar[str] = "refused"


class Unavailable(DeemsterError):
    """It did not work this time and may work on another try."""

    code: ClassVar[str] = "unavailable"


class LostRace(DeemsterError):
    """Someone else was first; drop the work quietly."""

    code: ClassVar[str] = "lost_race"
