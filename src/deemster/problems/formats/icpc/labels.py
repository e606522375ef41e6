"""What the directory of a submission, or a tag in its source, says of it."""

import re
from dataclasses import dataclass, replace

from deemster.domain.expectation import AC, RTE, TLE, WA, CaseRule, Expectation
from deemster.domain.verdict import WORST_FIRST, Verdict
from deemster.problems.formats.icpc.folder import Folder

REJECTED = WA | TLE | RTE
OFFICIAL = frozenset({"accepted", "wrong_answer", "time_limit_exceeded", "run_time_error"})
"""Where DOMjudge and BAPCtools look for no tag."""
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
    """The plain verdicts in the order given, then what else agrees with them."""
    first = list(dict.fromkeys(PLAIN[part] for part in parts if part in PLAIN))
    others = {verdict for part in parts for verdict in part} - set(first)
    return (*first, *sorted(others, key=WORST_FIRST.index, reverse=True))


def legacy_expectation(directory: str, *, scoring: bool) -> Expectation | None:
    """The verdict of the whole submission; None: the directory tells nothing.

    Where there are scores, an accepted submission may well have less than the best.
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
class Tag:
    """What a source says of itself; `verdicts` None: nothing."""

    verdicts: tuple[Verdict, ...] | None = None
    score: float | None = None

    def of_score(self, expectation: Expectation) -> Expectation:
        """What was expected, and its score."""
        if self.score is None:
            return expectation
        rule = CaseRule(score=(self.score, self.score))
        return replace(expectation, rules=(*expectation.rules, rule))

    def on(self, expectation: Expectation) -> Expectation:
        """Its verdicts instead of those that were expected."""
        with_score = self.of_score(expectation)
        if self.verdicts is None:
            return with_score
        if self.verdicts == ordered(AC) and expectation.time_bound is None:
            return replace(with_score, verdicts=self.verdicts, time_bound="lower")
        return replace(with_score, verdicts=self.verdicts)


def read_tag(folder: Folder, path: str) -> Tag:
    """From the first file of a submission that has one."""
    files = [path] if folder.is_file(path) else list(folder.files_below(path))
    verdicts: tuple[Verdict, ...] | None = None
    score: float | None = None
    for file in files:
        with folder.path(file).open("rb") as stream:
            text = stream.read(TAGGED_BYTES).decode("utf-8", errors="replace")
        for kind, said in TAG.findall(text):
            if kind.upper() == "SCORE" and not says_word(said):
                score = score_of(folder, file, said) if score is None else score
            elif verdicts is None:
                verdicts = verdicts_of(folder, file, said)
    return Tag(verdicts, score)


def says_word(said: str) -> bool:
    """DOMjudge takes verdicts under either name."""
    found = WORD.match(said.strip())
    return found is not None and as_word(found[0]) in {*WORDS, MANUAL}


def as_word(text: str) -> str:
    return text.upper().replace("_", "-")


def verdicts_of(folder: Folder, file: str, said: str) -> tuple[Verdict, ...] | None:
    """Any of these; empty: a judge decides."""
    parts: list[frozenset[Verdict]] = []
    for each in said.split(","):
        found = WORD.match(each.strip())
        word = as_word(found[0]) if found else ""
        if word == MANUAL:
            return ()
        if word in WORDS:
            parts.append(WORDS[word])
        else:
            folder.warn(f"{file}: @EXPECTED_RESULTS@ has '{each.strip()}', which is ignored.")
    return ordered(*parts) if parts else None


def score_of(folder: Folder, file: str, said: str) -> float | None:
    try:
        return float(said.split(maxsplit=1)[0])
    except (ValueError, IndexError):
        folder.warn(f"{file}: @EXPECTED_SCORE@ has '{said.strip()}', which is no number.")
        return None
