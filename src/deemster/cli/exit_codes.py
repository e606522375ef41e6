"""The exit codes of all commands."""

from enum import IntEnum


class ExitCode(IntEnum):
    OK = 0
    FAILED = 1
    """A program failed, a verdict is not Accepted, or a check did not pass."""
    UNABLE = 2
    """Deemster itself could not do what was asked."""
