"""The sample problems are there, complete, and small enough to ship."""

import subprocess
import sys
import tomllib
from collections import Counter
from pathlib import Path

import pytest

import hatch_build
from deemster.domain.expectation import AC
from deemster.domain.problem import ExampleSubmission, Problem, ProgramCheck
from deemster.problems.formats.detect import read_problem
from deemster.problems.summary import statement_text
from deemster.programs.build.languages import shipped_directory
from tests.waiting import PATIENCE_S

SAMPLES = shipped_directory("samples")
BY_LEVEL = (
    "aplusb",
    "lighthouse",
    "election",
    "fence",
    "ferry",
    "teams",
    "treasure",
    "moor",
    "countingout",
    "paving",
)
MAX_BYTES = 300 * 1000
GENERATED = [slug for slug in BY_LEVEL if (SAMPLES / slug / "generators").is_dir()]


@pytest.fixture(params=BY_LEVEL)
def problem(request: pytest.FixtureRequest) -> Problem:
    return read_problem(SAMPLES / request.param)


def test_there_are_ten_samples_of_growing_difficulty() -> None:
    problems = [read_problem(path.parent) for path in SAMPLES.glob("*/problem.yaml")]
    by_level = {problem.keywords[0]: problem.slug for problem in problems}
    assert by_level == {f"level-{at}": slug for at, slug in enumerate(BY_LEVEL, start=1)}
    assert len(problems) == 10
    assert len({problem.uuid for problem in problems}) == 10


def test_the_readme_lists_them_in_that_order() -> None:
    rows = [line for line in (SAMPLES / "README.md").read_text().splitlines() if "](" in line]
    listed = [line.split("[")[1].split("]")[0] for line in rows if line.startswith("|")]
    assert listed == list(BY_LEVEL)


def test_the_first_sample_adds_two_integers_on_a_line() -> None:
    root = SAMPLES / "aplusb"
    problem = read_problem(root)
    assert problem.slug == "aplusb"
    cases = list(problem.tests.cases())
    assert len(cases) > 5
    for case in cases:
        a, b = (root / case.input).read_text().removesuffix("\n").split(" ")
        assert (root / case.answer).read_text() == f"{int(a) + int(b)}\n"


def test_a_sample_is_complete(problem: Problem) -> None:
    assert not problem.warnings
    assert problem.license == "cc0"
    assert problem.limits.time_ms is not None
    assert problem.input_validators
    assert any(test.kind == "invalid_input" for test in problem.validator_tests)
    cases = list(problem.tests.cases())
    assert any(case.is_sample for case in cases)
    assert sum(not case.is_sample for case in cases) >= 8


def test_a_sample_has_a_statement_with_its_sections(problem: Problem) -> None:
    root = SAMPLES / problem.slug
    found = {each.language: each for each in problem.statements}
    assert problem.names.keys() == found.keys()
    text = statement_text(root / found["en"].path, found["en"].kind, problem.constants)
    sections = ["Interaction"] if problem.interactor else ["Input", "Output"]
    if problem.scoring:
        sections.append("Scoring")
    assert [name for name in sections if f"\n## {name}\n" not in text] == []


def test_some_samples_have_statements_in_two_languages() -> None:
    languages = Counter(
        each.language for slug in BY_LEVEL for each in read_problem(SAMPLES / slug).statements
    )
    assert languages["en"] == 10
    assert languages["de"] >= 2


def test_a_sample_is_solved_in_three_languages_and_failed_in_several_ways(
    problem: Problem,
) -> None:
    accepted = [each for each in problem.submissions if each.label == "accepted"]
    assert {".cpp", ".py"} < {ending(each) for each in accepted}
    failing = [each for each in problem.submissions if not AC & set(each.expectation.verdicts)]
    partial = [each for each in problem.submissions if problem.scoring and each not in accepted]
    assert len({each.label for each in failing + partial}) >= 2


def ending(submission: ExampleSubmission) -> str:
    return Path(submission.path).suffix


def test_the_samples_show_what_can_be_judged() -> None:
    problems = {slug: read_problem(SAMPLES / slug) for slug in BY_LEVEL}
    tolerance = next(problems["fence"].tests.cases()).checker
    assert tolerance != problems["fence"].checker
    assert isinstance(problems["teams"].checker, ProgramCheck)
    assert [slug for slug, each in problems.items() if each.interactor] == ["treasure"]
    assert [slug for slug, each in problems.items() if each.scoring] == ["countingout"]


def test_a_sample_is_small(problem: Problem) -> None:
    files = [path for path in (SAMPLES / problem.slug).rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < MAX_BYTES


@pytest.mark.parametrize("slug", GENERATED)
def test_a_generator_writes_the_inputs_of_its_package(slug: str, tmp_path: Path) -> None:
    script = SAMPLES / slug / "generators" / "generate.py"
    subprocess.run([sys.executable, str(script), str(tmp_path)], check=True, timeout=PATIENCE_S)
    written = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    secret = SAMPLES / slug / "data" / "secret"
    assert written
    assert written == {name: (secret / name).read_bytes() for name in written}


def test_data_directories_are_in_the_wheel_and_in_the_source_archive() -> None:
    with (Path(hatch_build.__file__).parent / "pyproject.toml").open("rb") as file:
        build = tomllib.load(file)["tool"]["hatch"]["build"]
    archived = build["targets"]["sdist"]["include"]
    assert "samples" in hatch_build.SHIPPED
    assert {f"/{name}" for name in hatch_build.SHIPPED} <= set(archived)
