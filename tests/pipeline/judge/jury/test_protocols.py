"""Tests for jury/protocols.py: what a hostile checker answers is no exception (J4)."""

import pytest

from deemster.domain.problem import ProtocolName
from deemster.pipeline.judge.jury.protocols import CHECKERS, CheckerOutput

ICPC, TESTLIB = ProtocolName.ICPC, ProtocolName.TESTLIB
NO_ANSWERS = [
    pytest.param(ICPC, CheckerOutput(42, "", "", {"score.txt": "1e999"}), id="score"),
    pytest.param(ICPC, CheckerOutput(42, "", "", {"score.txt": "-1e999"}), id="negative"),
    pytest.param(
        ICPC, CheckerOutput(42, "", "", {"score_multiplier.txt": "1e999"}), id="multiplier"
    ),
    pytest.param(TESTLIB, CheckerOutput(7, "", "points 1e999"), id="points"),
]


@pytest.mark.parametrize(("protocol", "output"), NO_ANSWERS)
def test_j4_a_score_that_no_database_can_store_is_no_answer(
    protocol: ProtocolName, output: CheckerOutput
) -> None:
    assert CHECKERS[protocol].read(output).verdict is None


def test_j4_a_share_with_thousands_of_digits_is_read() -> None:
    text = f"partially correct ({'9' * 10_000})"
    assert CHECKERS[TESTLIB].read(CheckerOutput(16, "", text)).verdict == "Accepted"
