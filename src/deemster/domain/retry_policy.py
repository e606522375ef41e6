"""Decides which judge failures are retried, when, and what the contestant is told (Q3)."""

from typing import Final

from deemster.domain.errors import Refused

FIRST_BACKOFF_S: Final = 2.0
"""Before the second attempt; doubled before each further one."""

JUDGE_FAILED: Final = (
    "The judge could not judge this submission. The program is not the cause. The operators "
    "of this judge have been notified and can have the submission judged again."
)
"""The only text that contestants get about a failure of the judge (A11)."""


def is_worth_retrying(fault: BaseException) -> bool:
    """A refusal would be repeated; any other fault may be temporary."""
    return not isinstance(fault, Refused)


def backoff_s(attempt: int) -> float:
    return float(FIRST_BACKOFF_S * 2 ** (attempt - 1))


def message_for_contestant(fault: BaseException) -> str:
    return str(fault) if isinstance(fault, Refused) else JUDGE_FAILED
