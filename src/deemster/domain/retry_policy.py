"""Tells failures of the judge apart: worth another attempt, or not (Q3)."""

from typing import Final

from deemster.domain.errors import Refused

FIRST_BACKOFF_S: Final = 2.0
"""Then 4 s, then 8 s."""

JUDGE_FAILED: Final = (
    "The judge could not judge this submission. That is not the program's fault; whoever runs "
    "this judge has been told, and can have it judged again."
)
"""All that a contestant hears of a failure of ours (A11)."""


def is_worth_retrying(fault: BaseException) -> bool:
    """What was refused will be refused again; anything else may have been the moment."""
    return not isinstance(fault, Refused)


def backoff_s(attempt: int) -> float:
    return float(FIRST_BACKOFF_S * 2 ** (attempt - 1))


def message_for_contestant(fault: BaseException) -> str:
    return str(fault) if isinstance(fault, Refused) else JUDGE_FAILED
