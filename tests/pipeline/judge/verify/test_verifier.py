"""Tests for verify/verifier.py: what is still verified if a part of a package can't be used."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from deemster.domain.expectation import Expectation
from deemster.domain.judgement import JuryCase, JuryJudgement
from deemster.domain.problem import (
    CustomGrader,
    ExampleSubmission,
    InputValidator,
    JuryProgram,
    Problem,
    ProtocolName,
)
from deemster.domain.verdict import Verdict
from deemster.pipeline.judge.verify.progress import NoProgress
from deemster.pipeline.judge.verify.verifier import (
    NOT_JUDGED,
    PackageReport,
    SubmissionReport,
    Verifier,
    find_limit_ms,
)
from deemster.problems.revision import Revision
from tests.pipeline.judge.sum_problem import (
    CATALOGUE,
    prepare,
    sum_problem,
    with_validator,
    write_files,
)

RIGHT = "print(sum(map(int, input().split())))"
ACCEPTED = Expectation((Verdict.ACCEPTED,))
LOOP = "while True: pass"


async def verify(directory: Path, problem: Problem) -> PackageReport:
    async with prepare(directory, sum_problem(directory / "other", 1)) as prepared:
        verifier = Verifier(
            prepared.build_tools, prepared.lanes, prepared.spool_dir, 1, NoProgress()
        )
        revision = Revision("0" * 64, directory / "package", problem)
        return await verifier.verify(directory, revision)


def with_submissions(root: Path, problem: Problem, sources: Mapping[str, str]) -> Problem:
    write_files(root, {f"submissions/accepted/{name}": text for name, text in sources.items()})
    examples = (
        ExampleSubmission(f"submissions/accepted/{name}", "accepted", ACCEPTED)
        for name in sources
    )
    return replace(problem, submissions=tuple(examples))


def with_endless_validators(root: Path, problem: Problem) -> Problem:
    write_files(root, {"input_validators/v.py": LOOP})
    program = JuryProgram("v", "input_validators/v.py")
    limits = replace(problem.limits, validation_ms=300)
    validators = (InputValidator(program, ProtocolName.ICPC),)
    return replace(problem, input_validators=validators, limits=limits)


def errors(report: PackageReport) -> list[str]:
    return [finding.text for finding in report.findings if finding.is_error]


async def test_programs_for_python_2_are_reported_and_the_rest_is_verified(
    tmp_path: Path,
) -> None:
    root = tmp_path / "package"
    problem = sum_problem(root, 2)
    write_files(root, {"graders/g.py": "print 'AC', 1\n"})
    problem = replace(
        problem,
        grader=JuryProgram("g.py", "graders/g.py"),
        tests=replace(problem.tests, grading=CustomGrader()),
        scoring=True,
    )
    sources = {"right.py": RIGHT, "old.py": "print sum(map(int, raw_input().split()))"}
    report = await verify(tmp_path, with_submissions(root, problem, sources | {"x.py2": ""}))
    [error] = errors(report)
    assert error.startswith("graders/g.py needs Python 2, which is not supported")
    right, old, named = report.submissions
    assert right.matches, right.reasons
    assert old.reasons[0].startswith("It needs Python 2")
    assert named.reasons[0].startswith("submissions/accepted/x.py2 needs Python 2")


async def test_inputs_are_checked_although_the_checker_can_not_be_built(tmp_path: Path) -> None:
    root = tmp_path / "package"
    problem = with_validator(root, sum_problem(root, 2), "except IOError, e:\n")
    write_files(root, {"input_validators/v.py": "raise SystemExit(43)"})
    program = JuryProgram("v", "input_validators/v.py")
    validators = (InputValidator(program, ProtocolName.ICPC),)
    report = await verify(tmp_path, replace(problem, input_validators=validators))
    assert errors(report)[0].startswith("output_validator/check.py needs Python 2")
    assert "sample/1: v: exit code 43" in errors(report)


async def test_validators_that_loop_are_stopped_once(tmp_path: Path) -> None:
    root = tmp_path / "package"
    problem = with_validator(root, sum_problem(root, 4), LOOP)
    sources = {"a.py": RIGHT, "b.py": RIGHT}
    problem = with_submissions(root, with_endless_validators(root, problem), sources)
    report = await verify(tmp_path, problem)
    # On a busy machine the wall clock ends it first.
    found = [text.replace("wall limit", "time limit") for text in errors(report)]
    assert [text for text in found if "end" in text or "limit" in text] == [
        "sample/1: v: time limit; it is not run on other inputs.",
        (
            "The validator does not end with data/1.ans as an output: "
            "nothing else was checked or judged."
        ),
    ]
    assert [each.reasons for each in report.submissions] == [(NOT_JUDGED,)] * 2


def test_only_the_cases_of_a_bounded_group_determine_the_time_limit(tmp_path: Path) -> None:
    expectation = Expectation(group_bounds=(("sample", "lower"), ("secret", "upper")))
    cases = [
        JuryCase("sample/1", 1, Verdict.ACCEPTED, cpu_ms=700),
        JuryCase("secret/1", 2, Verdict.ACCEPTED, cpu_ms=30_000),
    ]
    report = SubmissionReport(
        ExampleSubmission("a.py", "slow", expectation), JuryJudgement(Verdict.ACCEPTED, cases)
    )
    assert find_limit_ms(sum_problem(tmp_path / "package"), [report]) == 2_000


def test_pypy_can_stand_for_python() -> None:
    catalogue = CATALOGUE.with_replaced("python3", by="pypy3")
    for name in ("python3", "py", "pypy", "pypy3"):
        assert catalogue.named(name).id == "pypy3"
    assert catalogue.for_file("a.py").id == "pypy3"
    assert catalogue.named("c") is CATALOGUE.named("c")
