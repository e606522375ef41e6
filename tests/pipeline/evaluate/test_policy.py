"""P3: the table of reactions is complete, documented, and ends at the last tier."""

from pathlib import Path

import pytest

from deemster.pipeline.evaluate.policy import POLICY, AfterOutcome, Outcome, react

PAGE = Path(__file__).parents[3] / "docs" / "evaluation.md"


@pytest.mark.parametrize("outcome", Outcome)
def test_each_outcome_ends_at_the_last_tier_and_attempt(outcome: Outcome) -> None:
    last = react(outcome, is_last_tier=True, is_last_attempt=True)
    assert last in {AfterOutcome.USE, AfterOutcome.FLAG, AfterOutcome.FALL_BACK}


@pytest.mark.parametrize("outcome", Outcome)
def test_a_flag_names_its_reason(outcome: Outcome) -> None:
    reaction = POLICY[outcome]
    assert (AfterOutcome.FLAG in {reaction.step, reaction.at_last_tier}) == (
        reaction.flag is not None
    )


@pytest.mark.parametrize("outcome", Outcome)
def test_each_outcome_is_documented(outcome: Outcome) -> None:
    reaction = POLICY[outcome]
    row = f"| `{outcome}` | `{reaction.step}` | `{reaction.at_last_tier}` |"
    assert row in PAGE.read_text(encoding="utf-8")
