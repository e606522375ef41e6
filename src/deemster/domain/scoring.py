"""Computes scores: of cases, of groups, and of the whole submission."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from deemster.domain.errors import DeemsterError
from deemster.domain.problem import (
    Aggregation,
    Case,
    DefaultGrader,
    Group,
    StaticCheck,
    Subtask,
)
from deemster.domain.verdict import Verdict, worst


class ScoreFault(DeemsterError):
    """A jury program gave a score that the rules of the problem don't allow."""

    code = "score_fault"


@dataclass(frozen=True, slots=True)
class ScoredVerdict:
    """Verdict and score of a case or a group."""

    verdict: Verdict
    score: float | None = None

    @property
    def accepted(self) -> bool:
        return self.verdict is Verdict.ACCEPTED


@dataclass(frozen=True, slots=True)
class GivenScore:
    """The score from a checker: points, or a share of the case's maximum."""

    points: float | None = None
    share: float | None = None


NOT_GIVEN = GivenScore()
LOCKED = ScoredVerdict(Verdict.WRONG_ANSWER, 0.0)
"""Result of a group that is not run because a group that it requires failed."""

TOLERANCE = 1e-9


# ---- cases ----


def score_case(group: Group, case: Case, verdict: Verdict, given: GivenScore) -> ScoredVerdict:
    if isinstance(group.grading, Subtask):
        return score_in_subtask(group, group.grading, case, verdict, given)
    if given.share is not None:
        raise ScoreFault(f"The checker gave a share of a score for {case.name}.")
    default = group.accept_score if verdict is Verdict.ACCEPTED else group.reject_score
    return ScoredVerdict(verdict, default if given.points is None else given.points)


def score_in_subtask(
    group: Group, subtask: Subtask, case: Case, verdict: Verdict, given: GivenScore
) -> ScoredVerdict:
    """Full points, none, or the checker's points between these."""
    if case.is_sample:
        return ScoredVerdict(verdict, 0.0)
    maximum = case_maximum(group, subtask, case)
    if given != NOT_GIVEN and subtask.whole_score_only:
        raise ScoreFault(
            f"The checker gave a score for {case.name}, whose group takes only pass or fail."
        )
    if given != NOT_GIVEN and verdict not in {Verdict.ACCEPTED, Verdict.PARTIAL}:
        raise ScoreFault(f"The checker gave a score for {case.name} but rejected it.")
    if verdict is Verdict.PARTIAL or verdict is Verdict.ACCEPTED:
        return ScoredVerdict(verdict, points_of(case, maximum, given))
    return ScoredVerdict(verdict, 0.0)


def points_of(case: Case, maximum: float | None, given: GivenScore) -> float:
    if given.points is not None and given.share is not None:
        raise ScoreFault(f"The checker gave both points and a share for {case.name}.")
    if not 0 <= (given.share or 0) <= 1 or (given.points or 0) < 0:
        raise ScoreFault(f"The checker gave a score out of bounds for {case.name}.")
    if given.share is not None:
        if maximum is None:
            raise ScoreFault(f"The checker gave a share of unbounded points for {case.name}.")
        return given.share * maximum
    if given.points is not None:
        if maximum is not None and given.points > maximum + TOLERANCE:
            raise ScoreFault(
                f"The checker gave {given.points:g} points for {case.name}, "
                f"which has at most {maximum:g}."
            )
        return given.points
    if maximum is None:
        raise ScoreFault(f"The checker gave no score for {case.name}, which is unbounded.")
    return maximum


def case_maximum(group: Group, subtask: Subtask, case: Case) -> float | None:
    if case.points is not None:
        return case.points
    if subtask.max_score is None:
        return None
    if subtask.aggregation is not Aggregation.SUM:
        return subtask.max_score
    static = group.static.score if group.static and group.static.score else 0.0
    cases = sum(1 for item in group.items if isinstance(item, Case))
    return (subtask.max_score - static) / max(1, cases)


# ---- groups ----


def grade_by_default(grader: DefaultGrader, results: Sequence[ScoredVerdict]) -> ScoredVerdict:
    """The default grader of the legacy format, applied to the judged items."""
    considered = results[1:] if grader.ignore_sample and len(results) > 1 else results
    verdict = verdict_by_default(grader, considered)
    scores = [result.score for result in considered if result.score is not None]
    return ScoredVerdict(verdict, aggregate(grader.score, scores))


def verdict_by_default(grader: DefaultGrader, results: Sequence[ScoredVerdict]) -> Verdict:
    verdicts = [result.verdict for result in results]
    failures = [each for each in verdicts if each is not Verdict.ACCEPTED]
    if Verdict.JUDGE_ERROR in failures:
        return Verdict.JUDGE_ERROR
    if grader.verdict == "always_accept" or not failures:
        return Verdict.ACCEPTED
    if grader.accept_if_any and Verdict.ACCEPTED in verdicts:
        return Verdict.ACCEPTED
    return failures[0] if grader.verdict == "first_error" else worst(failures)


def aggregate(how: Aggregation, scores: Sequence[float]) -> float:
    if not scores:
        return 0.0
    if how is Aggregation.MIN:
        return min(scores)
    if how is Aggregation.MAX:
        return max(scores)
    return fmean(scores) if how is Aggregation.AVERAGE else sum(scores)


def grade_subtask(
    group: Group, subtask: Subtask, results: Sequence[ScoredVerdict]
) -> ScoredVerdict:
    """`results` ends with the item after which `stops` was true."""
    failures = [each.verdict for each in results if not each.accepted]
    all_passed = not failures
    if subtask.aggregation is Aggregation.ALL_OR_NOTHING:
        score = (subtask.max_score or 0.0) if all_passed else 0.0
    else:
        scores = [result.score or 0.0 for result in results]
        score = aggregate(subtask.aggregation, scores)
    if subtask.max_score is not None and score > subtask.max_score + TOLERANCE:
        raise ScoreFault(
            f"The score of {group.name} is {score:g}; its maximum is {subtask.max_score:g}."
        )
    return ScoredVerdict(verdict_of_subtask(subtask, failures, score), score)


def verdict_of_subtask(subtask: Subtask, failures: Sequence[Verdict], score: float) -> Verdict:
    if Verdict.JUDGE_ERROR in failures:
        return Verdict.JUDGE_ERROR
    maximum = subtask.max_score
    full = not failures if not maximum else score >= maximum - TOLERANCE
    if full:
        return Verdict.ACCEPTED
    if score > 0:
        return Verdict.PARTIAL
    real = [each for each in failures if each is not Verdict.PARTIAL]
    return real[0] if real else Verdict.WRONG_ANSWER


def stops(group: Group, result: ScoredVerdict) -> bool:
    """Whether no later item can change the group's result (J3)."""
    if result.verdict is Verdict.JUDGE_ERROR:
        return True
    if not isinstance(group.grading, Subtask):
        return group.stop_at_reject and not result.accepted
    how = group.grading.aggregation
    if how is Aggregation.ALL_OR_NOTHING:
        return not result.accepted
    return how is Aggregation.MIN and not result.score


def points_of_static(group: Group, static: StaticCheck, given: GivenScore) -> float:
    if static.score is None:
        if given != NOT_GIVEN:
            raise ScoreFault(f"The static validator gave a score in {group.name}.")
        return 0.0
    if given.share is not None:
        return given.share * static.score
    points = static.score if given.points is None else given.points
    if points > static.score + TOLERANCE:
        raise ScoreFault(f"The static validator gave {points:g} of {static.score:g} points.")
    return points
