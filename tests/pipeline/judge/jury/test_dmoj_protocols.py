"""Tests for the checker protocols of DMOJ: exit codes and shares of the points (J4)."""

import pytest

from deemster.domain.problem import ProtocolName
from deemster.domain.verdict import Verdict
from deemster.pipeline.judge.jury.protocols import (
    CHECKERS,
    TEAM_OUTPUT,
    CheckerOutput,
    CheckerPaths,
)

PEG = CHECKERS[ProtocolName.DMOJ_PEG]
COCI = CHECKERS[ProtocolName.DMOJ_COCI]


def test_j4_a_peg_checker_is_called_with_answer_output_input() -> None:
    assert PEG.argv(CheckerPaths("in", "ans")) == ("ans", TEAM_OUTPUT, "in")


@pytest.mark.parametrize(
    ("code", "stdout", "verdict", "share"),
    [
        (0, "", Verdict.ACCEPTED, None),
        (1, "", Verdict.WRONG_ANSWER, None),
        (1, "3\n10\n", Verdict.PARTIAL, 0.3),
        (0, "3\n10\n", Verdict.PARTIAL, 0.3),
        (1, "close\n1.5\n2.0", Verdict.PARTIAL, 0.75),
        (1, "0\n10\n", Verdict.WRONG_ANSWER, None),
        (0, "0\n10\n", Verdict.ACCEPTED, None),
        (1, "3\n0\n", Verdict.WRONG_ANSWER, None),
        (1, "12\n10\n", Verdict.ACCEPTED, None),
        (2, "3\n10\n", None, None),
    ],
)
def test_j4_a_peg_checker_may_give_a_fraction_of_the_points(
    code: int, stdout: str, verdict: Verdict | None, share: float | None
) -> None:
    answer = PEG.read(CheckerOutput(code, stdout, ""))
    assert (answer.verdict, answer.score.share) == (verdict, share)


@pytest.mark.parametrize(
    ("code", "stderr", "verdict", "share"),
    [
        (0, "", Verdict.ACCEPTED, None),
        (1, "", Verdict.WRONG_ANSWER, None),
        (2, "presentation", Verdict.WRONG_ANSWER, None),
        (3, "", None, None),
        (7, "partial 1/4", Verdict.PARTIAL, 0.25),
        (7, "partial 4/4", Verdict.ACCEPTED, None),
        (7, "partial 5/4", None, None),
        (7, "partial 1/0", None, None),
        (7, "points 3", None, None),
    ],
)
def test_j4_a_coci_score_above_one_is_an_error(
    code: int, stderr: str, verdict: Verdict | None, share: float | None
) -> None:
    answer = COCI.read(CheckerOutput(code, "", stderr))
    assert (answer.verdict, answer.score.share) == (verdict, share)
