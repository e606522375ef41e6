"""Reduces a problem to what can be verified without the package's own grader."""

from dataclasses import replace

from deemster.domain.expectation import Expectation
from deemster.domain.problem import Case, CustomGrader, DefaultGrader, Group, Problem


def without_grader(problem: Problem) -> Problem:
    """Groups get the worst verdict of their cases, and submissions no score."""
    examples = [
        replace(each, expectation=without_scores(each.expectation))
        for each in problem.submissions
        if not each.expectation.not_best_score
    ]
    return replace(
        problem,
        grader=None,
        scoring=False,
        tests=graded_by_default(problem.tests),
        submissions=tuple(examples),
    )


def graded_by_default(group: Group) -> Group:
    items: list[Group | Case] = [
        graded_by_default(each) if isinstance(each, Group) else each for each in group.items
    ]
    custom = isinstance(group.grading, CustomGrader)
    grading = DefaultGrader() if custom else group.grading
    return replace(group, items=tuple(items), grading=grading)


def without_scores(expectation: Expectation) -> Expectation:
    rules = tuple(replace(rule, score=None) for rule in expectation.rules)
    return replace(expectation, rules=rules)
