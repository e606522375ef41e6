"""Tests of the validators of a package."""

import pytest

from deemster.domain.problem import Compare, Comparison, Problem, ValidatorTest
from tests.problems.formats.icpc.conftest import PackageBuilder

Files = dict[str, str | None]


def outputs(directory: str, name: str = "1") -> Files:
    return {f"data/{directory}/{name}.{ending}": "" for ending in ("in", "ans", "out")}


def kinds(problem: Problem) -> dict[str, str]:
    return {test.name: test.kind for test in problem.validator_tests}


def test_invalid_inputs_and_outputs_are_validator_tests(packages: PackageBuilder) -> None:
    problem = packages.modern(
        {
            "data/invalid_input/empty.in": "",
            "data/invalid_input/deep/long.in": "",
            "data/invalid_input/deep/test_group.yaml": "input_validator_args: [x]\n",
            **outputs("invalid_output"),
            **outputs("valid_output"),
            "data/valid_output/1.yaml": (
                "output_validator_args: [case_sensitive]\ndescription: Odd.\n"
            ),
        }
    )
    assert kinds(problem) == {
        "invalid_input/empty": "invalid_input",
        "invalid_input/deep/long": "invalid_input",
        "invalid_output/1": "invalid_output",
        "valid_output/1": "valid_output",
    }
    by_name = {test.name: test for test in problem.validator_tests}
    assert by_name["invalid_input/empty"].case.answer == ""
    long = by_name["invalid_input/deep/long"].case
    assert long.input_validator_args.of("check.py") == ("x",)
    valid = by_name["valid_output/1"]
    assert valid.output == "data/valid_output/1.out"
    assert valid.case.input == "data/valid_output/1.in"
    assert valid.case.answer == "data/valid_output/1.ans"
    assert valid.case.checker == Comparison(Compare.TOKENS, case_sensitive=True)
    assert valid.case.description == "Odd."
    assert not any(case.name.startswith("invalid") for case in problem.tests.cases())


def test_the_output_of_a_sample_is_a_validator_test(packages: PackageBuilder) -> None:
    problem = packages.modern({"data/sample/1.out": "3\n"})
    sample = next(problem.tests.cases())
    assert problem.validator_tests == (
        ValidatorTest("sample/1", "valid_output", sample, "data/sample/1.out"),
    )


@pytest.mark.parametrize(
    ("old", "kind"),
    [
        ("invalid_inputs", "invalid_input"),
        ("bad", "invalid_input"),
        ("invalid_outputs", "invalid_output"),
        ("valid_outputs", "valid_output"),
    ],
)
@pytest.mark.parametrize("version", ["legacy", "modern"])
def test_older_names_are_accepted_with_a_warning(
    packages: PackageBuilder, old: str, kind: str, version: str
) -> None:
    files = {"data/bad/1.in": ""} if old == "bad" else outputs(old)
    problem = (packages.legacy if version == "legacy" else packages.modern)(files)
    assert kinds(problem) == {f"{old}/1": kind}
    assert f"data/{old}: the name is outdated: call it {kind}." in problem.warnings


def test_flags_of_a_legacy_group_apply_to_its_validator_tests(packages: PackageBuilder) -> None:
    problem = packages.legacy(
        {"data/bad/1.in": "", "data/bad/testdata.yaml": "input_validator_flags: a b\n"}
    )
    assert problem.validator_tests[0].case.input_validator_args.of("any") == ("a", "b")


def test_incomplete_validator_tests_are_warned_of(packages: PackageBuilder) -> None:
    problem = packages.legacy(
        {
            "data/valid_output/1.in": "",
            "data/valid_output/1.ans": "",
            "data/bad/2.in": "",
            "data/bad/2.ans": "",
            "data/invalid_answers/3.in": "",
        }
    )
    assert problem.validator_tests == ()
    assert "data/valid_output/1.in: ignored, because it has no .out." in problem.warnings
    assert "data/bad/2.in: ignored, because answers aren't validated." in problem.warnings
    assert "data/invalid_answers: ignored, because answers aren't validated." in (
        problem.warnings
    )


def test_outputs_of_an_interactive_problem_are_not_validated(packages: PackageBuilder) -> None:
    problem = packages.modern(
        {
            **outputs("invalid_output"),
            "data/invalid_input/1.in": "",
            "output_validator/talk.py": "",
        },
        "type: interactive\n",
    )
    assert kinds(problem) == {"invalid_input/1": "invalid_input"}
    assert any("data/invalid_output: ignored" in each for each in problem.warnings)
