"""Defines how checkers and interactors of each protocol are called and how they answer."""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise

from deemster.domain.problem import PointsUnit, ProtocolName
from deemster.domain.scoring import NOT_GIVEN, GivenScore
from deemster.domain.verdict import Verdict
from deemster.sandbox.command import WORK_DIR

FEEDBACK = "feedback"
FEEDBACK_DIR = f"{WORK_DIR}/{FEEDBACK}/"
TEAM_OUTPUT = "/dev/stdin"
"""The path of the contestant's output for checkers that open it as a file."""
INTERACTOR_OUTPUT = "tout"
NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
NOT_A_NUMBER = float("nan")
MAX_HENG_CODES = 8
"""A checker of heng that ends with a higher exit code has failed."""


@dataclass(frozen=True, slots=True)
class CheckerPaths:
    """Paths inside the checker's sandbox."""

    input: str
    answer: str
    args: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CheckerOutput:
    exit_code: int
    stdout: str
    stderr: str
    files: Mapping[str, str] = field(default_factory=dict)
    """The feedback files by name."""


@dataclass(frozen=True, slots=True)
class CheckerAnswer:
    verdict: Verdict | None
    """None if the output does not follow the protocol, which is a Judge Error."""
    score: GivenScore = NOT_GIVEN
    jury_message: str = ""
    team_message: str = ""


@dataclass(frozen=True, slots=True)
class CheckerProtocol:
    argv: Callable[[CheckerPaths], tuple[str, ...]]
    read: Callable[[CheckerOutput], CheckerAnswer]
    links: Callable[[CheckerPaths], Mapping[str, str]] = lambda _: {}
    """Symbolic links that the checker expects in its working directory, with their targets."""


# ---- ICPC ----


def icpc_argv(paths: CheckerPaths) -> tuple[str, ...]:
    return (paths.input, paths.answer, FEEDBACK_DIR, *paths.args)


def read_icpc(output: CheckerOutput) -> CheckerAnswer:
    verdicts = {42: Verdict.ACCEPTED, 43: Verdict.WRONG_ANSWER}
    score = GivenScore(
        points=number(output.files.get("score.txt")),
        share=number(output.files.get("score_multiplier.txt")),
    )
    valid = not any(math.isnan(each) for each in (score.points, score.share) if each)
    messages = (output.files.get("judgemessage.txt", ""), output.stderr)
    return CheckerAnswer(
        verdicts.get(output.exit_code) if valid else None,
        score,
        "\n".join(part.strip() for part in messages if part.strip()),
        output.files.get("teammessage.txt", "").strip(),
    )


def number(text: str | None) -> float | None:
    """Reads a score file; NaN marks a file without a finite number, which is a Judge Error."""
    if text is None:
        return None
    found = float(text) if re.fullmatch(rf"\s*{NUMBER}\s*", text) else NOT_A_NUMBER
    return found if math.isfinite(found) else NOT_A_NUMBER


# ---- testlib ----


def testlib_argv(paths: CheckerPaths) -> tuple[str, ...]:
    return (paths.input, TEAM_OUTPUT, paths.answer, *paths.args)


def testlib_interactor_argv(paths: CheckerPaths) -> tuple[str, ...]:
    return (paths.input, INTERACTOR_OUTPUT, paths.answer, *paths.args)


def read_testlib(output: CheckerOutput) -> CheckerAnswer:
    """0 accepts, 1 and 2 reject, 3 is a Judge Error, 7 gives points.

    Partial results are read from stderr, because their exit codes differ between versions of
    testlib.h.
    """
    code, message = output.exit_code, output.stderr.strip()
    partial = re.match(r"partially correct \((\d+)\)", message)
    if partial and code not in {0, 3}:
        return by_share(min(100.0, float(partial[1])) / 100, message)
    if code == 0:
        return CheckerAnswer(Verdict.ACCEPTED, jury_message=message)
    if code in {1, 2, 4, 5, 8}:
        return CheckerAnswer(Verdict.WRONG_ANSWER, jury_message=message)
    if code == 7:
        found = re.search(rf"points\s+({NUMBER})", message)
        points = number(found[1]) if found else None
        if points is None or math.isnan(points):
            return CheckerAnswer(None, jury_message=message)
        return CheckerAnswer(Verdict.PARTIAL, GivenScore(points=points), message)
    return CheckerAnswer(None, jury_message=message)


# ---- others ----


def read_syzoj(output: CheckerOutput) -> CheckerAnswer:
    """The checker prints a score of 0 to 100 on stdout."""
    found = re.match(r"\s*(\d+(?:\.\d+)?)", output.stdout)
    if output.exit_code or not found:
        return CheckerAnswer(None, jury_message=output.stderr.strip())
    return by_share(min(1.0, float(found[1]) / 100), output.stderr.strip())


def read_lemon(output: CheckerOutput) -> CheckerAnswer:
    found = re.match(r"\s*(\d+(?:\.\d+)?)", output.files.get("score", ""))
    message = output.files.get("message", "").strip()
    if output.exit_code or not found:
        return CheckerAnswer(None, jury_message=message or output.stderr.strip())
    return by_share(min(1.0, float(found[1]) / 100), message)


def read_hustoj(output: CheckerOutput) -> CheckerAnswer:
    message = (output.stdout + output.stderr).strip()
    verdict = Verdict.WRONG_ANSWER if output.exit_code else Verdict.ACCEPTED
    return CheckerAnswer(verdict, jury_message=message)


def read_qduoj(output: CheckerOutput) -> CheckerAnswer:
    verdicts = {0: Verdict.ACCEPTED, 1: Verdict.WRONG_ANSWER}
    message = (output.stdout + output.stderr).strip()
    return CheckerAnswer(verdicts.get(output.exit_code), jury_message=message)


def read_dmoj(output: CheckerOutput) -> CheckerAnswer:
    verdicts = {0: Verdict.ACCEPTED, 1: Verdict.WRONG_ANSWER}
    message = output.stderr.strip() or output.stdout.strip()
    return CheckerAnswer(verdicts.get(output.exit_code), jury_message=message)


def read_coci(output: CheckerOutput) -> CheckerAnswer:
    """Like testlib's protocol, but exit code 7 gives a share of the points, at most 1."""
    if output.exit_code != 7:
        return read_testlib(output)
    message = output.stderr.strip()
    found = re.search(rf"partial\s+({NUMBER})\s*/\s*({NUMBER})", message)
    share = fraction(found[1], found[2]) if found else None
    if share is None or not 0 <= share <= 1:
        return CheckerAnswer(None, jury_message=message)
    return by_share(share, message)


def read_peg(output: CheckerOutput) -> CheckerAnswer:
    """Like DMOJ's protocol, but two lines of stdout may give a share of the points."""
    lines = output.stdout.split("\n")
    if output.exit_code in {0, 1}:
        for above, below in pairwise(lines):
            share = fraction(above, below)
            if share is not None and share > 0:
                return by_share(share, output.stderr.strip())
    return read_dmoj(output)


def fraction(above: str, below: str) -> float | None:
    """None if the texts are not two numbers, or the second one is zero."""
    parts = number(above), number(below)
    if any(part is None or math.isnan(part) for part in parts) or not parts[1]:
        return None
    return (parts[0] or 0.0) / parts[1]


def read_heng(output: CheckerOutput) -> CheckerAnswer:
    """0 with a text that begins with AC or OK accepts; other codes up to 8 reject.

    A checker that fails by testlib's `quitf(_fail, …)` is a Judge Error.
    """
    message = (output.stdout.strip() + output.stderr.strip()).strip()
    text = message.lower()
    if output.exit_code > MAX_HENG_CODES or (output.exit_code == 3 and text[:4] == "fail"):
        return CheckerAnswer(None, jury_message=message)
    accepted = output.exit_code == 0 and text.startswith(("ac", "ok"))
    verdict = Verdict.ACCEPTED if accepted else Verdict.WRONG_ANSWER
    return CheckerAnswer(verdict, jury_message=message)


def with_unit(score: GivenScore, unit: PointsUnit) -> GivenScore:
    """Converts points to a share where the problem's format defines them so."""
    points = score.points
    if points is None or unit is PointsUnit.POINTS:
        return score
    percent = unit is PointsUnit.PERCENT or points > 1
    return GivenScore(share=max(0.0, min(1.0, points / 100 if percent else points)))


def by_share(share: float, message: str) -> CheckerAnswer:
    if share >= 1:
        return CheckerAnswer(Verdict.ACCEPTED, jury_message=message)
    if share <= 0:
        return CheckerAnswer(Verdict.WRONG_ANSWER, jury_message=message)
    return CheckerAnswer(Verdict.PARTIAL, GivenScore(share=share), message)


CHECKERS: Mapping[ProtocolName, CheckerProtocol] = {
    ProtocolName.ICPC: CheckerProtocol(icpc_argv, read_icpc),
    ProtocolName.TESTLIB: CheckerProtocol(testlib_argv, read_testlib),
    ProtocolName.SYZOJ: CheckerProtocol(
        lambda _: (),
        read_syzoj,
        lambda paths: {
            "input": paths.input,
            "user_out": TEAM_OUTPUT,
            "answer": paths.answer,
        },
    ),
    ProtocolName.LEMON: CheckerProtocol(
        lambda paths: (
            paths.input,
            TEAM_OUTPUT,
            paths.answer,
            "100",
            f"{FEEDBACK_DIR}score",
            f"{FEEDBACK_DIR}message",
        ),
        read_lemon,
    ),
    ProtocolName.HUSTOJ: CheckerProtocol(
        lambda paths: (paths.input, paths.answer, TEAM_OUTPUT), read_hustoj
    ),
    ProtocolName.QDUOJ: CheckerProtocol(lambda paths: (paths.input, TEAM_OUTPUT), read_qduoj),
    ProtocolName.DMOJ: CheckerProtocol(testlib_argv, read_dmoj),
    ProtocolName.DMOJ_COCI: CheckerProtocol(testlib_argv, read_coci),
    ProtocolName.DMOJ_PEG: CheckerProtocol(
        lambda paths: (paths.answer, TEAM_OUTPUT, paths.input), read_peg
    ),
    ProtocolName.HENG: CheckerProtocol(testlib_argv, read_heng),
}

INTERACTORS: Mapping[ProtocolName, CheckerProtocol] = {
    ProtocolName.ICPC: CheckerProtocol(icpc_argv, read_icpc),
    ProtocolName.TESTLIB: CheckerProtocol(testlib_interactor_argv, read_testlib),
    ProtocolName.DMOJ: CheckerProtocol(lambda paths: (paths.input, paths.answer), read_dmoj),
    ProtocolName.DMOJ_COCI: CheckerProtocol(
        lambda paths: (paths.input, paths.answer), read_coci
    ),
    ProtocolName.HENG: CheckerProtocol(testlib_interactor_argv, read_heng),
}

VALID_EXIT: Mapping[ProtocolName, int] = {ProtocolName.ICPC: 42, ProtocolName.TESTLIB: 0}
"""The exit code by which an input validator accepts."""
