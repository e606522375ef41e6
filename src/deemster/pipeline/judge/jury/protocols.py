"""How jury programs are called and what their answers mean, one table entry a protocol."""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from deemster.domain.problem import PointsUnit, ProtocolName
from deemster.domain.scoring import NOT_GIVEN, GivenScore
from deemster.domain.verdict import Verdict
from deemster.sandbox.command import WORK_DIR

FEEDBACK = "feedback"
FEEDBACK_DIR = f"{WORK_DIR}/{FEEDBACK}/"
TEAM_OUTPUT = "/dev/stdin"
"""Where a checker that wants a file finds the output; it is given as its standard input."""
INTERACTOR_OUTPUT = "tout"
NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
NOT_A_NUMBER = float("nan")


@dataclass(frozen=True, slots=True)
class CheckerPaths:
    """Where a jury program finds things, by paths of its box."""

    input: str
    answer: str
    args: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CheckerOutput:
    """All that a jury program can answer with."""

    exit_code: int
    stdout: str
    stderr: str
    files: Mapping[str, str] = field(default_factory=dict)
    """Small files of its feedback directory, by name."""


@dataclass(frozen=True, slots=True)
class CheckerAnswer:
    verdict: Verdict | None
    """None: this is no answer at all, and so a judge error."""
    given: GivenScore = NOT_GIVEN
    jury_message: str = ""
    team_message: str = ""


@dataclass(frozen=True, slots=True)
class CheckerProtocol:
    argv: Callable[[CheckerPaths], tuple[str, ...]]
    read: Callable[[CheckerOutput], CheckerAnswer]
    links: Callable[[CheckerPaths], Mapping[str, str]] = lambda _: {}
    """Names that it expects in its working directory, with what they lead to."""


# ---- ICPC ----


def icpc_argv(papers: CheckerPaths) -> tuple[str, ...]:
    return (papers.input, papers.answer, FEEDBACK_DIR, *papers.args)


def read_icpc(spoken: CheckerOutput) -> CheckerAnswer:
    verdicts = {42: Verdict.ACCEPTED, 43: Verdict.WRONG_ANSWER}
    given = GivenScore(
        points=number(spoken.files.get("score.txt")),
        share=number(spoken.files.get("score_multiplier.txt")),
    )
    sound = not any(math.isnan(each) for each in (given.points, given.share) if each)
    said = (spoken.files.get("judgemessage.txt", ""), spoken.stderr)
    return CheckerAnswer(
        verdicts.get(spoken.exit_code) if sound else None,
        given,
        "\n".join(part.strip() for part in said if part.strip()),
        spoken.files.get("teammessage.txt", "").strip(),
    )


def number(text: str | None) -> float | None:
    """The one number of a score file; a file without one is a fault of the jury's program."""
    if text is None:
        return None
    return float(text) if re.fullmatch(rf"\s*{NUMBER}\s*", text) else NOT_A_NUMBER


# ---- testlib ----


def testlib_argv(papers: CheckerPaths) -> tuple[str, ...]:
    return (papers.input, TEAM_OUTPUT, papers.answer, *papers.args)


def testlib_interactor_argv(papers: CheckerPaths) -> tuple[str, ...]:
    return (papers.input, INTERACTOR_OUTPUT, papers.answer, *papers.args)


def read_testlib(spoken: CheckerOutput) -> CheckerAnswer:
    """0 right, 1 wrong, 2 badly formed, 3 a fault of the jury, 7 points; parts by their words.

    Exit codes for parts differ from header to header, and some mean other things too.
    """
    code, said = spoken.exit_code, spoken.stderr.strip()
    partly = re.match(r"partially correct \((\d+)\)", said)
    if partly and code not in {0, 3}:
        return by_share(min(100, int(partly[1])) / 100, said)
    if code == 0:
        return CheckerAnswer(Verdict.ACCEPTED, jury_message=said)
    if code in {1, 2, 4, 5, 8}:
        return CheckerAnswer(Verdict.WRONG_ANSWER, jury_message=said)
    if code == 7:
        found = re.search(rf"points\s+({NUMBER})", said)
        if not found:
            return CheckerAnswer(None, jury_message=said)
        return CheckerAnswer(Verdict.PARTIAL, GivenScore(points=float(found[1])), said)
    return CheckerAnswer(None, jury_message=said)


# ---- others ----


def read_syzoj(spoken: CheckerOutput) -> CheckerAnswer:
    """A score of 0 to 100 on stdout."""
    found = re.match(r"\s*(\d+(?:\.\d+)?)", spoken.stdout)
    if spoken.exit_code or not found:
        return CheckerAnswer(None, jury_message=spoken.stderr.strip())
    return by_share(min(1.0, float(found[1]) / 100), spoken.stderr.strip())


def read_lemon(spoken: CheckerOutput) -> CheckerAnswer:
    found = re.match(r"\s*(\d+(?:\.\d+)?)", spoken.files.get("score", ""))
    said = spoken.files.get("message", "").strip()
    if spoken.exit_code or not found:
        return CheckerAnswer(None, jury_message=said or spoken.stderr.strip())
    return by_share(min(1.0, float(found[1]) / 100), said)


def read_hustoj(spoken: CheckerOutput) -> CheckerAnswer:
    said = (spoken.stdout + spoken.stderr).strip()
    verdict = Verdict.WRONG_ANSWER if spoken.exit_code else Verdict.ACCEPTED
    return CheckerAnswer(verdict, jury_message=said)


def read_qduoj(spoken: CheckerOutput) -> CheckerAnswer:
    verdicts = {0: Verdict.ACCEPTED, 1: Verdict.WRONG_ANSWER}
    said = (spoken.stdout + spoken.stderr).strip()
    return CheckerAnswer(verdicts.get(spoken.exit_code), jury_message=said)


def read_dmoj(spoken: CheckerOutput) -> CheckerAnswer:
    verdicts = {0: Verdict.ACCEPTED, 1: Verdict.WRONG_ANSWER}
    said = spoken.stderr.strip() or spoken.stdout.strip()
    return CheckerAnswer(verdicts.get(spoken.exit_code), jury_message=said)


def read_coci(spoken: CheckerOutput) -> CheckerAnswer:
    """As DMOJ's own, and 7 with a part of the points."""
    if spoken.exit_code != 7:
        return read_dmoj(spoken)
    said = spoken.stderr.strip()
    found = re.search(rf"partial\s+({NUMBER})\s*/\s*({NUMBER})", said)
    if found is None or float(found[2]) <= 0:
        return CheckerAnswer(None, jury_message=said)
    return by_share(min(1.0, float(found[1]) / float(found[2])), said)


def read_peg(spoken: CheckerOutput) -> CheckerAnswer:
    """As DMOJ's own; a rejection may come with a part of the points, in two lines."""
    found = re.search(r"^(\d+)\n(\d+)$", spoken.stdout, re.MULTILINE)
    if spoken.exit_code != 1 or found is None or int(found[2]) == 0:
        return read_dmoj(spoken)
    return by_share(min(1.0, int(found[1]) / int(found[2])), spoken.stderr.strip())


def with_unit(given: GivenScore, unit: PointsUnit) -> GivenScore:
    """What a number of points means in the problem's own format."""
    points = given.points
    if points is None or unit is PointsUnit.POINTS:
        return given
    percent = unit is PointsUnit.PERCENT or points > 1
    return GivenScore(share=max(0.0, min(1.0, points / 100 if percent else points)))


def by_share(share: float, said: str) -> CheckerAnswer:
    if share >= 1:
        return CheckerAnswer(Verdict.ACCEPTED, jury_message=said)
    if share <= 0:
        return CheckerAnswer(Verdict.WRONG_ANSWER, jury_message=said)
    return CheckerAnswer(Verdict.PARTIAL, GivenScore(share=share), said)


CHECKERS: Mapping[ProtocolName, CheckerProtocol] = {
    ProtocolName.ICPC: CheckerProtocol(icpc_argv, read_icpc),
    ProtocolName.TESTLIB: CheckerProtocol(testlib_argv, read_testlib),
    ProtocolName.SYZOJ: CheckerProtocol(
        lambda _: (),
        read_syzoj,
        lambda papers: {
            "input": papers.input,
            "user_out": TEAM_OUTPUT,
            "answer": papers.answer,
        },
    ),
    ProtocolName.LEMON: CheckerProtocol(
        lambda papers: (
            papers.input,
            TEAM_OUTPUT,
            papers.answer,
            "100",
            f"{FEEDBACK_DIR}score",
            f"{FEEDBACK_DIR}message",
        ),
        read_lemon,
    ),
    ProtocolName.HUSTOJ: CheckerProtocol(
        lambda papers: (papers.input, papers.answer, TEAM_OUTPUT), read_hustoj
    ),
    ProtocolName.QDUOJ: CheckerProtocol(lambda papers: (papers.input, TEAM_OUTPUT), read_qduoj),
    ProtocolName.DMOJ: CheckerProtocol(testlib_argv, read_dmoj),
    ProtocolName.DMOJ_COCI: CheckerProtocol(testlib_argv, read_coci),
    ProtocolName.DMOJ_PEG: CheckerProtocol(
        lambda papers: (TEAM_OUTPUT, papers.answer, papers.input), read_peg
    ),
}

INTERACTORS: Mapping[ProtocolName, CheckerProtocol] = {
    ProtocolName.ICPC: CheckerProtocol(icpc_argv, read_icpc),
    ProtocolName.TESTLIB: CheckerProtocol(testlib_interactor_argv, read_testlib),
    ProtocolName.DMOJ: CheckerProtocol(lambda papers: (papers.input, papers.answer), read_dmoj),
    ProtocolName.DMOJ_COCI: CheckerProtocol(
        lambda papers: (papers.input, papers.answer), read_coci
    ),
}

VALID_EXIT: Mapping[ProtocolName, int] = {ProtocolName.ICPC: 42, ProtocolName.TESTLIB: 0}
"""The exit code of an input validator that found nothing wrong."""
