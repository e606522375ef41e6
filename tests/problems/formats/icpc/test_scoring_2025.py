"""Scores of groups in 2025-09."""

from collections.abc import Callable

import pytest

from deemster.domain.problem import (
    Aggregation,
    Compare,
    Comparison,
    Group,
    StaticCheck,
    Subtask,
)
from tests.problems.formats.icpc.conftest import PackageBuilder
from tests.problems.formats.icpc.modern_data import (
    SCORING,
    STATIC,
    VALIDATOR,
    Files,
    case,
    group,
    groups_with,
    pair,
)

Refusal = Callable[..., str]


def test_the_score_of_secret_is_that_of_the_submission(packages: PackageBuilder) -> None:
    problem = packages.modern(yaml=SCORING)
    root = problem.tests
    assert root.grading == Subtask(100.0, Aggregation.SUM, whole_score_only=False)
    sample, secret = root.items
    assert isinstance(sample, Group)
    assert isinstance(secret, Group)
    assert sample.grading == Subtask(0.0, Aggregation.ALL_OR_NOTHING)
    assert secret.grading == Subtask(100.0, Aggregation.SUM, whole_score_only=False)


def test_groups_have_scores_and_requirements(packages: PackageBuilder) -> None:
    problem = packages.modern(
        groups_with(
            a="max_score: 30\n",
            b="max_score: 70\nscore_aggregation: min\nrequire_pass: [sample, secret/a]\n",
        ),
        SCORING,
    )
    assert group(problem, "secret/a").grading == Subtask(30.0)
    assert group(problem, "secret/b").grading == Subtask(
        70.0, Aggregation.MIN, ("sample", "secret/a"), whole_score_only=False
    )
    assert problem.warnings == ()


def test_points_may_be_unbounded(packages: PackageBuilder) -> None:
    problem = packages.modern(
        {
            **groups_with(a="score_aggregation: sum\n"),
            **VALIDATOR,
            "data/secret/test_group.yaml": "max_score: unbounded\n",
        },
        SCORING,
    )
    assert problem.tests.grading == Subtask(None, Aggregation.SUM, whole_score_only=False)
    assert group(problem, "secret/a").grading == Subtask(
        None, Aggregation.SUM, whole_score_only=False
    )


def test_a_static_validator_may_give_a_score(packages: PackageBuilder) -> None:
    problem = packages.modern(
        {
            **groups_with(
                a="max_score: 40\nstatic_validation_score: pass-fail\n",
                b=(
                    "max_score: 60\nscore_aggregation: sum\nstatic_validation_score: 20\n"
                    "static_validator_args: [--short]\n"
                ),
            ),
            **STATIC,
        },
        SCORING,
    )
    assert problem.static_validator is not None
    assert problem.static_validator.path == "static_validator/look.py"
    assert group(problem, "secret/a").static == StaticCheck(None)
    assert group(problem, "secret/b").static == StaticCheck(20.0, ("--short",))


def test_a_pass_fail_problem_may_have_a_static_validator(packages: PackageBuilder) -> None:
    text = "static_validation_score: pass-fail\n"
    problem = packages.modern({"data/secret/test_group.yaml": text, **STATIC})
    assert group(problem, "secret").static == StaticCheck(None)


@pytest.mark.parametrize(
    ("file", "text", "told"),
    [
        ("sample", "max_score: 5\n", "the key 'max_score' is not for samples"),
        (
            "sample",
            "score_aggregation: sum\n",
            "the key 'score_aggregation' is not for samples",
        ),
        ("sample", "require_pass: sample\n", "the key 'require_pass' is not for samples"),
        ("sample", "static_validation_score: 3\n", "must be pass-fail for samples"),
        ("secret", "max_score: -1\n", "the key 'max_score' should be"),
        ("secret", "max_score: 1.5\n", "the key 'max_score' should be"),
        ("secret", "max_score: lots\n", "the key 'max_score' should be"),
        ("secret", "score_aggregation: max\n", "the key 'score_aggregation' should be"),
        (
            "secret",
            "max_score: unbounded\nscore_aggregation: pass-fail\n",
            "the key 'max_score' must be a number where",
        ),
        ("secret", "max_score: unbounded\n", "is unbounded: that needs a program"),
        ("secret", "require_pass: secret/a\n", "the key 'require_pass' has 'secret/a'"),
        ("secret", "max_score: 50\n", "is 50, and the groups together have 100"),
        (
            "secret",
            "static_validator_args: [x]\n",
            "the key 'static_validator_args' needs static_validation_score",
        ),
        (
            "secret",
            "score_aggregation: pass-fail\n",
            "the key 'score_aggregation' must be pass-fail, as that of secret is",
        ),
        ("secret/a", "", "the key 'max_score' is missing or unbounded, and secret's is 100"),
        ("secret/a", "max_score: unbounded\n", "the key 'max_score' is missing or unbounded"),
        (
            "secret/a",
            "max_score: 5\nrequire_pass: b\n",
            "has 'b', which is not a group: use sample",
        ),
        (
            "secret/a",
            "max_score: 5\nrequire_pass: secret/b\n",
            "has 'secret/b', which doesn't come before it",
        ),
        (
            "secret/a",
            "max_score: 5\nrequire_pass: secret/a\n",
            "has 'secret/a', which doesn't come before it",
        ),
        (
            "secret/c",
            "max_score: 0\nrequire_pass: secret/b\n",
            "has 'secret/b', whose score_aggregation is not pass-fail",
        ),
        (
            "secret/b",
            "max_score: 5\nscore_aggregation: sum\nstatic_validation_score: pass-fail\n",
            "is pass-fail: so must score_aggregation be",
        ),
        (
            "secret/b",
            "max_score: 5\nstatic_validation_score: 5\n",
            "must be pass-fail, as score_aggregation is",
        ),
        (
            "secret/b",
            "max_score: 5\nscore_aggregation: sum\nstatic_validation_score: 6\n",
            "is 6, more than the max_score of 5",
        ),
        (
            "secret/a/deep",
            "max_score: 5\n",
            "the key 'max_score' is only for groups directly below data/secret",
        ),
    ],
)
def test_contradicting_scores_are_refused_by_file_and_key(
    packages: PackageBuilder, refusal: Refusal, file: str, text: str, told: str
) -> None:
    files: Files = {
        **groups_with(
            a="max_score: 50\n",
            b="max_score: 50\nscore_aggregation: sum\n",
            c="max_score: 0\n",
        ),
        **pair("secret/a/deep/1"),
        **STATIC,
        f"data/{file}/test_group.yaml": text,
    }
    said = refusal(packages.modern, files, yaml=SCORING)
    assert said.startswith(f"data/{file}/test_group.yaml: the key '") or (
        file == "secret" and said.startswith("data/secret/b/test_group.yaml: the key '")
    )
    assert told in said


def test_a_static_score_needs_a_static_validator(
    packages: PackageBuilder, refusal: Refusal
) -> None:
    files: Files = {"data/secret/test_group.yaml": "static_validation_score: 5\n"}
    assert "needs a program in static_validator/" in refusal(
        packages.modern, files, yaml=SCORING
    )


def test_a_pass_fail_problem_has_no_static_score(
    packages: PackageBuilder, refusal: Refusal
) -> None:
    files: Files = {"data/secret/test_group.yaml": "static_validation_score: 5\n", **STATIC}
    assert "must be pass-fail in such a problem" in refusal(packages.modern, files)


def test_a_submit_answer_problem_has_no_static_validator(
    packages: PackageBuilder, refusal: Refusal
) -> None:
    said = refusal(packages.modern, STATIC, yaml="type: submit-answer\n")
    assert "static_validator: a submit-answer problem has none" in said


def test_unreachable_points_are_warned_of(packages: PackageBuilder) -> None:
    problem = packages.modern(groups_with(a="max_score: 40\n"), SCORING)
    assert "secret: the groups have 40 of the 100 points." in problem.warnings


# ---- drafts ----


def test_a_draft_may_use_the_older_keys(packages: PackageBuilder) -> None:
    problem = packages.draft(
        {
            **groups_with(a="", b=""),
            "data/secret/a/test_group.yaml": None,
            "data/secret/a/testdata.yaml": (
                "output_validator_flags: case_sensitive\ninput_validator_flags: x y\n"
            ),
            "data/secret/a/1.desc": "Old.",
        }
    )
    found = case(problem, "secret/a/1")
    assert found.checker == Comparison(Compare.TOKENS, case_sensitive=True)
    assert found.input_validator_args.of("any") == ("x", "y")
    assert found.description == "Old."


def test_groups_of_a_draft_share_the_remaining_points(packages: PackageBuilder) -> None:
    problem = packages.draft(
        groups_with(
            a="scoring: {score: '40'}\n", b="", c="scoring: {require_pass: secret/a}\n"
        ),
        SCORING,
    )
    assert group(problem, "secret/a").grading == Subtask(40.0)
    assert group(problem, "secret/b").grading == Subtask(30.0)
    assert group(problem, "secret/c").grading == Subtask(30.0, requires=("secret/a",))


def test_a_draft_may_have_static_validation(packages: PackageBuilder) -> None:
    problem = packages.draft(
        {"data/secret/test_group.yaml": "static_validation: true\n", **STATIC}
    )
    assert group(problem, "secret").static == StaticCheck(None)


def test_an_unknown_key_of_a_draft_is_refused(
    packages: PackageBuilder, refusal: Refusal
) -> None:
    files: Files = {"data/secret/test_group.yaml": "scoring: {points: 5}\n"}
    said = refusal(packages.draft, files, yaml=SCORING)
    assert "data/secret/test_group.yaml: the key 'scoring.points' is not known" in said
