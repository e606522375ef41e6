"""The policy: one table says what follows from each outcome of asking a tier (P3, P5)."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from deemster.domain.evaluation import Flag, WithoutModel


class Outcome(StrEnum):
    """How asking one tier ended."""

    AGREED = "agreed"
    """All answers are valid, and both variants have the same score."""
    SCORE_MOVED = "score_moved"
    """The variants have different scores."""
    DISAGREED = "disagreed"
    """Two answers about the same variant differ."""
    CONTRADICTED = "contradicted"
    """An answer contradicts the verdict or another fact."""
    INVALID = "invalid"
    """A reply is invalid after one repair attempt, or proves too little."""
    TIMEOUT = "timeout"
    SERVER_ERROR = "server_error"
    """Status 5xx."""
    UNREACHABLE = "unreachable"
    REFUSED = "refused"
    """Status 4xx except 429: most likely a wrong key or model name."""
    CIRCUIT_OPEN = "circuit_open"
    """The tier failed repeatedly a moment ago, so it was not asked."""
    RATE_LIMITED = "rate_limited"
    """Status 429, and Retry-After does not fit into the deadline."""
    BUSY = "busy"
    """Another process waits for the same reply."""
    OUT_OF_TIME = "out_of_time"
    """The stage's deadline leaves no time for the call."""
    OVER_BUDGET = "over_budget"
    TOO_LARGE = "too_large"
    """The program is larger than the tier accepts."""


class AfterOutcome(StrEnum):
    """What follows from the outcome of asking a tier."""

    USE = "use"
    """Use the score."""
    FLAG = "flag"
    """Don't use the score; a person must look."""
    NEXT_TIER = "next_tier"
    LATER = "later"
    """End this attempt of the stage; the next one continues. The last attempt falls back."""
    FALL_BACK = "fall_back"
    """Use the deterministic rubric."""


@dataclass(frozen=True, slots=True)
class Reaction:
    step: AfterOutcome
    at_last_tier: AfterOutcome
    flag: Flag | None = None
    without_model: WithoutModel = WithoutModel.NO_REPLY


POLICY: Final[dict[Outcome, Reaction]] = {
    Outcome.AGREED: Reaction(AfterOutcome.USE, AfterOutcome.USE),
    Outcome.SCORE_MOVED: Reaction(AfterOutcome.FLAG, AfterOutcome.FLAG, Flag.SCORE_MOVED),
    Outcome.DISAGREED: Reaction(
        AfterOutcome.NEXT_TIER, AfterOutcome.FLAG, Flag.ANSWERS_DISAGREE
    ),
    Outcome.CONTRADICTED: Reaction(
        AfterOutcome.NEXT_TIER, AfterOutcome.FLAG, Flag.CONTRADICTS_FACTS
    ),
    Outcome.INVALID: Reaction(
        AfterOutcome.NEXT_TIER, AfterOutcome.FALL_BACK, without_model=WithoutModel.INVALID_REPLY
    ),
    Outcome.TIMEOUT: Reaction(AfterOutcome.NEXT_TIER, AfterOutcome.LATER),
    Outcome.SERVER_ERROR: Reaction(AfterOutcome.NEXT_TIER, AfterOutcome.LATER),
    Outcome.UNREACHABLE: Reaction(AfterOutcome.NEXT_TIER, AfterOutcome.LATER),
    Outcome.REFUSED: Reaction(AfterOutcome.NEXT_TIER, AfterOutcome.LATER),
    Outcome.CIRCUIT_OPEN: Reaction(AfterOutcome.NEXT_TIER, AfterOutcome.LATER),
    Outcome.RATE_LIMITED: Reaction(AfterOutcome.LATER, AfterOutcome.LATER),
    Outcome.BUSY: Reaction(AfterOutcome.LATER, AfterOutcome.LATER),
    Outcome.OUT_OF_TIME: Reaction(AfterOutcome.LATER, AfterOutcome.LATER),
    # A later tier costs more, but may accept larger programs.
    Outcome.OVER_BUDGET: Reaction(
        AfterOutcome.FALL_BACK, AfterOutcome.FALL_BACK, without_model=WithoutModel.NO_BUDGET
    ),
    Outcome.TOO_LARGE: Reaction(
        AfterOutcome.NEXT_TIER, AfterOutcome.FALL_BACK, without_model=WithoutModel.TOO_LARGE
    ),
}


def react(outcome: Outcome, *, is_last_tier: bool, is_last_attempt: bool) -> AfterOutcome:
    reaction = POLICY[outcome]
    step = reaction.at_last_tier if is_last_tier else reaction.step
    return AfterOutcome.FALL_BACK if step is AfterOutcome.LATER and is_last_attempt else step
