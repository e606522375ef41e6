"""M6: checkers and interactors of heng accept by what they print, and by their exit code."""

import pytest

from deemster.domain.problem import ProtocolName
from deemster.domain.verdict import Verdict
from deemster.pipeline.judge.jury.protocols import (
    CHECKERS,
    INTERACTORS,
    CheckerOutput,
    CheckerPaths,
)

RIGHT, WRONG, FAULT = Verdict.ACCEPTED, Verdict.WRONG_ANSWER, None


@pytest.mark.parametrize(
    ("code", "stdout", "stderr", "verdict"),
    [
        (0, "", "ok the sum is 3", RIGHT),
        (0, "AC\n", "", RIGHT),
        (0, " Accepted", "", RIGHT),
        (0, "", "", WRONG),
        (0, "WA", "", WRONG),
        (0, "", "wrong answer", WRONG),
        (1, "AC", "", WRONG),
        (1, "", "wrong answer expected 3", WRONG),
        (2, "", "PE", WRONG),
        (8, "", "ok", WRONG),
        (3, "WA", "", WRONG),
        (3, "", "FAIL the answer has no number", FAULT),
        (9, "", "ok", FAULT),
        (255, "AC", "", FAULT),
    ],
)
def test_text_and_exit_code_decide(
    code: int, stdout: str, stderr: str, verdict: Verdict | None
) -> None:
    for protocol in (CHECKERS[ProtocolName.HENG], INTERACTORS[ProtocolName.HENG]):
        answer = protocol.read(CheckerOutput(code, stdout, stderr))
        assert answer.verdict is verdict
        assert answer.jury_message == (stdout.strip() + stderr.strip()).strip()


def test_programs_are_called_as_testlib_does() -> None:
    paths = CheckerPaths("in", "ans")
    assert CHECKERS[ProtocolName.HENG].argv(paths) == ("in", "/dev/stdin", "ans")
    assert INTERACTORS[ProtocolName.HENG].argv(paths) == ("in", "tout", "ans")
