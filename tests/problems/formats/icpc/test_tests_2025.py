"""Test data of 2025-09: cases, settings, groups, scores."""

from collections.abc import Callable

import pytest

from deemster.domain.problem import (
    Compare,
    Comparison,
    DefaultGrader,
    SampleFiles,
)
from tests.problems.formats.icpc.conftest import PackageBuilder
from tests.problems.formats.icpc.modern_data import (
    NO_CASES,
    SCORING,
    VALIDATOR,
    Files,
    case,
    groups_with,
    pair,
)

Refusal = Callable[..., str]
NO_CASES_AT_ALL: Files = {
    **NO_CASES,
    "data/sample/1.in": None,
    "data/sample/1.ans": None,
}


# ---- cases ----


def test_a_case_may_have_settings_files_and_arguments(packages: PackageBuilder) -> None:
    problem = packages.modern(
        {
            "data/secret/01.yaml": (
                "args: [-n, 5]\ninput_validator_args: [strict]\nfull_feedback: true\n"
                "hint: Think\ndescription: Big\noutput_validator_args: [case_sensitive]\n"
            ),
            "data/secret/01.files/table.txt": "x",
            "data/secret/01.files/deep/more.txt": "y",
            "data/secret/01.files/.hidden": "z",
            "data/secret/01.svg": "<svg/>",
        }
    )
    found = case(problem, "secret/01")
    assert found.args == ("-n", "5")
    assert found.input_validator_args.of("check.py") == ("strict", "-n", "5")
    assert found.full_feedback
    assert (found.hint, found.description) == ("Think", "Big")
    assert found.checker == Comparison(Compare.TOKENS, case_sensitive=True)
    assert found.files == {
        "deep/more.txt": "data/secret/01.files/deep/more.txt",
        "table.txt": "data/secret/01.files/table.txt",
    }
    assert found.shown == SampleFiles("data/secret/01.in", "data/secret/01.ans")
    assert problem.warnings == ()


def test_settings_are_inherited_key_by_key(packages: PackageBuilder) -> None:
    problem = packages.modern(
        {
            **groups_with(a="output_validator_args: [float_tolerance, 0.5]\n", b=""),
            "data/secret/test_group.yaml": "args: [all]\nfull_feedback: true\n",
            "data/secret/a/1.yaml": "full_feedback: false\n",
        }
    )
    one, other = case(problem, "secret/a/1"), case(problem, "secret/b/1")
    assert one.args == other.args == ("all",)
    assert (one.full_feedback, other.full_feedback) == (False, True)
    assert one.checker == Comparison(
        Compare.TOKENS, case_sensitive=False, absolute=0.5, relative=0.5
    )
    assert other.checker is None
    assert case(problem, "sample/1").full_feedback
    assert case(problem, "sample/1").args == ()


def test_named_arguments_of_input_validators_are_followed_by_those_of_the_case(
    packages: PackageBuilder,
) -> None:
    problem = packages.modern(
        {
            "input_validators/other.py": "",
            "data/secret/01.yaml": (
                "args: [x]\ninput_validator_args: {check.py: [a], gone: [b]}\n"
            ),
        }
    )
    found = case(problem, "secret/01").input_validator_args
    assert found.of("check.py") == ("a", "x")
    assert found.of("other.py") == ("x",)
    assert any("'gone' is not an input validator" in each for each in problem.warnings)


def test_constants_are_filled_into_settings(packages: PackageBuilder) -> None:
    problem = packages.modern(
        {
            "data/secret/test_group.yaml": "input_validator_args: [--max, '{{n}}', '{{m}}']\n",
            "data/secret/01.yaml": "args: [{{n}}]\n",
        },
        "constants: {n: 1000}\n",
    )
    found = case(problem, "secret/01")
    assert found.args == ("1000",)
    assert found.input_validator_args.of("x") == ("--max", "1000", "{{m}}", "1000")


@pytest.mark.parametrize(
    ("files", "shown", "download"),
    [
        ({}, ("1.in", "1.ans"), ("1.in", "1.ans")),
        ({"1.out": ""}, ("1.in", "1.out"), ("1.in", "1.out")),
        (
            {"1.in.statement": "", "1.in.download": "", "1.ans.statement": ""},
            ("1.in.statement", "1.ans.statement"),
            ("1.in.download", "1.ans"),
        ),
        (
            {"1.ans.statement": "", "1.ans.download": ""},
            ("1.in", "1.ans.statement"),
            ("1.in", "1.ans.download"),
        ),
    ],
)
def test_samples_have_files_for_statement_and_download(
    packages: PackageBuilder, files: Files, shown: tuple[str, str], download: tuple[str, str]
) -> None:
    problem = packages.modern({f"data/sample/{name}": text for name, text in files.items()})
    found = case(problem, "sample/1")
    assert found.shown == SampleFiles(*(f"data/sample/{name}" for name in shown))
    assert found.download == SampleFiles(*(f"data/sample/{name}" for name in download))


def test_only_the_interaction_of_a_sample_is_shown(packages: PackageBuilder) -> None:
    problem = packages.modern(
        {"data/sample/1.interaction": "<1\n", "data/sample/1.out": "", **VALIDATOR},
        "type: [interactive]\n",
    )
    only = SampleFiles(interaction="data/sample/1.interaction")
    assert case(problem, "sample/1").shown == only
    assert case(problem, "sample/1").download == only
    assert any("and nothing else of sample/1" in each for each in problem.warnings)


def test_samples_alone_are_judged_with_a_warning(packages: PackageBuilder) -> None:
    """As BAPCtools lets packages be while they are made."""
    problem = packages.modern(NO_CASES)
    assert [each.name for each in problem.tests.cases()] == ["sample/1"]
    told = "data/secret has no test cases: only the samples are judged."
    assert told in problem.warnings


@pytest.mark.parametrize(
    ("files", "told"),
    [
        ({"data/secret/2.in": ""}, "data/secret/2.in has no answer"),
        ({"data/secret/2.ans": ""}, "data/secret/2.ans has no input"),
        ({"data/1.in": ""}, "data: test cases belong in"),
        (NO_CASES_AT_ALL, "data/secret: there are no test cases"),
        (
            {**NO_CASES_AT_ALL, "data/secret/a.txt": ""},
            "data/secret: there are no test cases",
        ),
        (
            {"data/secret/test_group.in": "", "data/secret/test_group.ans": ""},
            "data/secret/test_group.in: no test case may be called test_group",
        ),
        ({"data/secret/01.yaml": "arg: [x]\n"}, "data/secret/01.yaml: the key 'arg' is not"),
        (
            {"data/secret/01.yaml": "args: -x\n"},
            "data/secret/01.yaml: the key 'args' must be a list of arguments",
        ),
        (
            {"data/secret/01.yaml": "args: [true]\n"},
            "data/secret/01.yaml: the key 'args.0' should be a valid string",
        ),
        (
            {"data/secret/01.yaml": "max_score: 5\n"},
            "data/secret/01.yaml: the key 'max_score' is not known",
        ),
        (
            {"data/secret/01.yaml": "full_feedback: often\n"},
            "data/secret/01.yaml: the key 'full_feedback' should be a valid boolean",
        ),
        (
            {"data/secret/01.yaml": "output_validator_args: [loose]\n"},
            "data/secret/01.yaml: the key 'output_validator_args' has 'loose'",
        ),
        (
            {
                "data/secret/01.yaml": (
                    "output_validator_args: [float_tolerance, 1e-6, float_tolerance, 1e-7]\n"
                )
            },
            "gives a tolerance twice",
        ),
        (
            {"data/secret/testdata.yaml": "args: []\n"},
            "data/secret/testdata.yaml is of older versions: call it test_group.yaml",
        ),
        (
            {"data/sample/test_group.yaml": "args: 1\nargs: 2\n"},
            "data/sample/test_group.yaml: the key 'args' appears twice",
        ),
    ],
)
def test_wrong_test_data_is_refused_by_file_and_key(
    packages: PackageBuilder, refusal: Refusal, files: Files, told: str
) -> None:
    assert told in refusal(packages.modern, files)


def test_a_package_may_have_no_samples(packages: PackageBuilder) -> None:
    problem = packages.modern({"data/sample/1.in": None, "data/sample/1.ans": None})
    assert [item.name for item in problem.tests.items] == ["secret"]


# ---- pass-fail groups ----


def test_groups_of_a_pass_fail_problem_all_count(packages: PackageBuilder) -> None:
    problem = packages.modern({**groups_with(b="", a=""), **pair("secret/a/deep/x")})
    assert [each.name for each in problem.tests.cases()] == [
        *("sample/1", "secret/a/1", "secret/a/deep/x", "secret/b/1"),
    ]
    assert [each.name for each in problem.tests.groups()] == [
        *("", "sample", "secret", "secret/a", "secret/b"),
    ]
    assert all(each.grading == DefaultGrader() for each in problem.tests.groups())


def test_cases_beside_groups_are_warned_of_in_pass_fail_problems(
    packages: PackageBuilder, refusal: Refusal
) -> None:
    problem = packages.modern(pair("secret/a/1"))
    assert len(list(problem.tests.cases())) == 3
    assert any("both test cases and groups" in each for each in problem.warnings)
    assert "both test cases and groups" in refusal(
        packages.modern, {"data/secret/a/test_group.yaml": "max_score: 100\n"}, yaml=SCORING
    )


@pytest.mark.parametrize(
    "key", ["max_score: 5", "score_aggregation: sum", "require_pass: sample"]
)
def test_a_pass_fail_problem_has_no_scores(
    packages: PackageBuilder, refusal: Refusal, key: str
) -> None:
    said = refusal(packages.modern, {"data/secret/test_group.yaml": f"{key}\n"})
    name = key.partition(":")[0]
    assert said.startswith(f"data/secret/test_group.yaml: the key '{name}' is only for")
