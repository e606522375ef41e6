"""Expected results by a submission's directory or by a tag in its source."""

import re
from dataclasses import dataclass, replace

from deemster.domain.expectation import AC, RTE, TLE, WA, CaseRule, Expectation
from deemster.domain.verdict import WORST_FIRST, Verdict
from deemster.problems.formats.icpc.folder import Folder

REJECTED = WA | TLE | RTE
OFFICIAL = frozenset({"accepted", "wrong_answer", "time_limit_exceeded", "run_time_error"})
"""Directories in which DOMjudge and BAPCtools ignore tags."""
WORDS: dict[str, frozenset[Verdict]] = {
    "ACCEPTED": AC,
    "CORRECT": AC,
    "WRONG-ANSWER": WA,
    "NO-OUTPUT": WA,
    "TIMELIMIT": TLE,
    "TIME-LIMIT": TLE,
    "TIME-LIMIT-EXCEEDED": TLE,
    "RUN-ERROR": RTE,
    "RUN-TIME-ERROR": RTE,
    "MEMORY-LIMIT": frozenset({Verdict.MEMORY_LIMIT, Verdict.RUNTIME_ERROR}),
    "OUTPUT-LIMIT": frozenset({Verdict.OUTPUT_LIMIT, Verdict.RUNTIME_ERROR}),
    "COMPILER-ERROR": frozenset({Verdict.COMPILE_ERROR}),
    "REJECTED": REJECTED,
}
MANUAL = "CHECK-MANUALLY"
TAG = re.compile(r"@EXPECTED_(RESULTS|SCORE)@:[ \t]*([^\r\n]*)", re.IGNORECASE)
WORD = re.compile(r"[A-Za-z][A-Za-z_-]*[A-Za-z]")
TAGGED_BYTES = 1024 * 1024


PLAIN = {
    AC: Verdict.ACCEPTED,
    WA: Verdict.WRONG_ANSWER,
    TLE: Verdict.TIME_LIMIT,
    RTE: Verdict.RUNTIME_ERROR,
}


def ordered(*parts: frozenset[Verdict]) -> tuple[Verdict, ...]:
    """The main verdict of each part in the given order, then the other verdicts."""
    first = list(dict.fromkeys(PLAIN[part] for part in parts if part in PLAIN))
    others = {verdict for part in parts for verdict in part} - set(first)
    return (*first, *sorted(others, key=WORST_FIRST.index, reverse=True))


def legacy_expectation(directory: str, *, scoring: bool) -> Expectation | None:
    """The expected verdict for a directory; None: the name has no meaning.

    In scoring problems an accepted submission may have less than the best score.
    """
    accepted = (*ordered(AC), Verdict.PARTIAL) if scoring else ordered(AC)
    if directory == "accepted":
        return Expectation(accepted, time_bound="lower")
    if directory == "partially_accepted":
        return Expectation(accepted, not_best_score=True)
    if directory == "time_limit_exceeded":
        return Expectation(ordered(TLE), time_bound="upper")
    word = as_word(directory)
    return Expectation(ordered(WORDS[word])) if word in WORDS else None


# ---- tags ----


@dataclass(frozen=True, slots=True)
class SourceTag:
    """The tags in a source; `verdicts` None: there is none."""

    verdicts: tuple[Verdict, ...] | None = None
    score: float | None = None

    def add_score_to(self, expectation: Expectation) -> Expectation:
        """Adds the tag's score to an expectation."""
        if self.score is None:
            return expectation
        rule = CaseRule(score=(self.score, self.score))
        return replace(expectation, rules=(*expectation.rules, rule))

    def apply_to(self, expectation: Expectation) -> Expectation:
        """Replaces the expected verdicts by those of the tag."""
        with_score = self.add_score_to(expectation)
        if self.verdicts is None:
            return with_score
        if self.verdicts == ordered(AC) and expectation.time_bound is None:
            return replace(with_score, verdicts=self.verdicts, time_bound="lower")
        return replace(with_score, verdicts=self.verdicts)


def read_tag(folder: Folder, path: str) -> SourceTag:
    """The first tag of each kind in the files of a submission."""
    files = [path] if folder.is_file(path) else list(folder.files_below(path))
    verdicts: tuple[Verdict, ...] | None = None
    score: float | None = None
    for file in files:
        with folder.path(file).open("rb") as stream:
            text = stream.read(TAGGED_BYTES).decode("utf-8", errors="replace")
        for kind, value in TAG.findall(text):
            if kind.upper() == "SCORE" and not is_verdict_word(value):
                score = score_of(folder, file, value) if score is None else score
            elif verdicts is None:
                verdicts = verdicts_of(folder, file, value)
    return SourceTag(verdicts, score)


def is_verdict_word(value: str) -> bool:
    """DOMjudge accepts verdicts in both tags."""
    found = WORD.match(value.strip())
    return found is not None and as_word(found[0]) in {*WORDS, MANUAL}


def as_word(text: str) -> str:
    return text.upper().replace("_", "-")


def verdicts_of(folder: Folder, file: str, value: str) -> tuple[Verdict, ...] | None:
    """The verdicts of a tag; empty: to be checked manually."""
    parts: list[frozenset[Verdict]] = []
    for each in value.split(","):
        found = WORD.match(each.strip())
        word = as_word(found[0]) if found else ""
        if word == MANUAL:
            return ()
        if word in WORDS:
            parts.append(WORDS[word])
        else:
            folder.warn(f"{file}: @EXPECTED_RESULTS@ has '{each.strip()}', which is ignored.")
    return ordered(*parts) if parts else None


def score_of(folder: Folder, file: str, value: str) -> float | None:
    try:
        return float(value.split(maxsplit=1)[0])
    except (ValueError, IndexError):
        folder.warn(f"{file}: @EXPECTED_SCORE@ has '{value.strip()}', which is not a number.")
        return None
