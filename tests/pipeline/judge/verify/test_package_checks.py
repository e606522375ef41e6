"""Tests for verify/package_checks.py: findings about a package and its data."""

from dataclasses import replace
from pathlib import Path
from typing import Literal

import pytest

from deemster.domain.problem import (
    Group,
    InputValidator,
    JuryProgram,
    Problem,
    ProtocolName,
    ValidatorTest,
)
from deemster.pipeline.judge.verify.package_checks import (
    MAX_SHOWN,
    check_definition,
    check_package,
)
from deemster.pipeline.judge.verify.progress import NoProgress
from tests.pipeline.judge.sum_problem import prepare, sum_problem, with_validator, write_files

NO_SUBMISSIONS = "There is no submission to judge: add some."
SMALL_NUMBERS = """
import sys
sys.exit(42 if int(input().split()[0]) <= LARGEST else 43)
"""


async def findings(directory: Path, problem: Problem) -> list[str]:
    async with prepare(directory, problem) as prepared:
        found = await check_package(prepared, 1, NoProgress())
    texts = [finding.text for finding in found if finding.is_error]
    return [text for text in texts if text != NO_SUBMISSIONS]


def with_input_validator(root: Path, problem: Problem, largest: int) -> Problem:
    text = SMALL_NUMBERS.replace("LARGEST", str(largest))
    write_files(root, {"input_validators/small.py": text})
    program = JuryProgram("small", "input_validators/small.py")
    return replace(problem, input_validators=(InputValidator(program, ProtocolName.ICPC),))


def test_a_problem_without_cases_is_an_error(tmp_path: Path) -> None:
    problem = replace(sum_problem(tmp_path / "package"), tests=Group("", ()))
    assert any(
        "no test case" in each.text for each in check_definition(problem) if each.is_error
    )


def test_a_package_without_submissions_is_not_verified(tmp_path: Path) -> None:
    found = check_definition(sum_problem(tmp_path / "package"))
    assert [(each.severity, each.text) for each in found] == [
        ("error", NO_SUBMISSIONS),
        ("warning", "There is no statement."),
    ]


async def test_an_answer_that_is_missing_is_not_checked(tmp_path: Path) -> None:
    """As in DMOJ's packages, whose checkers may need none."""
    root = tmp_path / "package"
    problem = with_validator(root, sum_problem(root, 1), "raise SystemExit(42)")
    [case] = problem.tests.cases()
    problem = replace(problem, tests=Group("", (replace(case, answer=""),)))
    assert await findings(tmp_path, problem) == []


async def test_inputs_that_a_validator_rejects_are_errors(tmp_path: Path) -> None:
    root = tmp_path / "package"
    problem = with_input_validator(root, sum_problem(root, 3), largest=2)
    [error] = await findings(tmp_path, problem)
    assert error == "secret/3: small: exit code 43"


async def test_only_the_first_findings_of_a_kind_are_listed(tmp_path: Path) -> None:
    root = tmp_path / "package"
    problem = with_input_validator(root, sum_problem(root, MAX_SHOWN + 2), largest=0)
    errors = await findings(tmp_path, problem)
    assert len(errors) == MAX_SHOWN + 1
    assert errors[-1] == "And 2 more of these."


@pytest.mark.parametrize(
    ("kind", "code", "error"),
    [
        ("valid_output", 42, None),
        ("valid_output", 43, "own should be accepted, but is Wrong Answer."),
        ("invalid_output", 43, None),
        ("invalid_output", 42, "own should be rejected, but is Accepted."),
    ],
)
async def test_the_output_validator_must_pass_the_tests_of_the_package(
    tmp_path: Path,
    kind: Literal["valid_output", "invalid_output"],
    code: int,
    error: str | None,
) -> None:
    root = tmp_path / "package"
    text = f"import sys; sys.exit({code} if 'own' in sys.stdin.read() else 42)"
    problem = with_validator(root, sum_problem(root, 1), text)
    write_files(root, {"own.out": "own"})
    [case] = problem.tests.cases()
    test = ValidatorTest("own", kind, case, "own.out")
    errors = await findings(tmp_path, replace(problem, validator_tests=(test,)))
    assert errors == ([error] if error else [])
