"""Example submissions, with their directories and tags."""

from collections.abc import Callable

import pytest

from deemster.domain.expectation import RTE, TLE, WA, CaseRule, Expectation
from deemster.domain.problem import ExampleSubmission, Group, Problem
from deemster.domain.verdict import Verdict
from tests.problems.formats.icpc.conftest import Files, PackageBuilder

V = Verdict
Refusal = Callable[..., str]
SCORING = "type: scoring\n"


def of(problem: Problem, name: str) -> ExampleSubmission:
    return next(each for each in problem.submissions if each.path == f"submissions/{name}")


@pytest.mark.parametrize(
    ("directory", "expectation"),
    [
        ("accepted", Expectation((V.ACCEPTED, V.PARTIAL), time_bound="lower")),
        ("wrong_answer", Expectation((V.WRONG_ANSWER, V.OUTPUT_LIMIT))),
        (
            "time_limit_exceeded",
            Expectation((V.TIME_LIMIT, V.OUTPUT_LIMIT), time_bound="upper"),
        ),
        ("run_time_error", Expectation((V.RUNTIME_ERROR, V.OUTPUT_LIMIT, V.MEMORY_LIMIT))),
        ("partially_accepted", Expectation((V.ACCEPTED, V.PARTIAL), not_best_score=True)),
        ("compiler_error", Expectation((V.COMPILE_ERROR,))),
        ("no_output", Expectation((V.WRONG_ANSWER, V.OUTPUT_LIMIT))),
    ],
)
def test_a_legacy_directory_gives_the_expected_verdict(
    packages: PackageBuilder, directory: str, expectation: Expectation
) -> None:
    problem = packages.legacy({f"submissions/{directory}/x.cpp": ""}, SCORING)
    found = of(problem, f"{directory}/x.cpp")
    assert found.expectation == expectation
    assert found.label == directory


def test_rejected_means_any_failure(packages: PackageBuilder) -> None:
    verdicts = of(packages.legacy({"submissions/rejected/x.c": ""}), "rejected/x.c").expectation
    assert set(verdicts.verdicts) == WA | TLE | RTE


@pytest.mark.parametrize(
    ("text", "expectation"),
    [
        ("// @EXPECTED_RESULTS@: CORRECT\n", Expectation((V.ACCEPTED,), time_bound="lower")),
        (
            "# @EXPECTED_RESULTS@: TIMELIMIT, Wrong-Answer\nx = 1\n",
            Expectation((V.TIME_LIMIT, V.WRONG_ANSWER, V.OUTPUT_LIMIT)),
        ),
        (
            "/* @expected_results@: RUN_TIME_ERROR,CORRECT*/",
            Expectation((V.RUNTIME_ERROR, V.ACCEPTED, V.OUTPUT_LIMIT, V.MEMORY_LIMIT)),
        ),
        (
            "// @EXPECTED_RESULTS@: MEMORY-LIMIT\r\n",
            Expectation((V.MEMORY_LIMIT, V.RUNTIME_ERROR)),
        ),
        ("// @EXPECTED_RESULTS@: COMPILER-ERROR\n", Expectation((V.COMPILE_ERROR,))),
        ("// @EXPECTED_RESULTS@: CHECK-MANUALLY\n", Expectation()),
        ("// @EXPECTED_SCORE@: 42.5\n", Expectation(rules=(CaseRule(score=(42.5, 42.5)),))),
        (
            "// @EXPECTED_RESULTS@: NO-OUTPUT\n// @EXPECTED_SCORE@: 0\n",
            Expectation((V.WRONG_ANSWER, V.OUTPUT_LIMIT), rules=(CaseRule(score=(0, 0)),)),
        ),
    ],
)
def test_a_tag_counts_outside_of_the_official_directories(
    packages: PackageBuilder, text: str, expectation: Expectation
) -> None:
    problem = packages.legacy({"submissions/mixed/x.cpp": text})
    assert of(problem, "mixed/x.cpp").expectation == expectation


def test_a_tag_may_be_in_any_file_of_a_program(packages: PackageBuilder) -> None:
    problem = packages.legacy(
        {
            "submissions/mixed/dir/main.py": "import b\n",
            "submissions/mixed/dir/b.py": "# @EXPECTED_RESULTS@: WRONG-ANSWER\n",
        }
    )
    assert V.WRONG_ANSWER in of(problem, "mixed/dir").expectation.verdicts


def test_a_tag_doesnt_count_in_the_four_official_directories(packages: PackageBuilder) -> None:
    problem = packages.legacy(
        {"submissions/accepted/x.py": "# @EXPECTED_RESULTS@: TIMELIMIT\n"}
    )
    assert of(problem, "accepted/x.py").expectation.verdicts == (V.ACCEPTED,)
    assert any("don't count in accepted/" in each for each in problem.warnings)


def test_a_submission_without_an_expected_result_is_warned_of(packages: PackageBuilder) -> None:
    problem = packages.legacy(
        {
            "submissions/slow/x.py": "",
            "submissions/mixed/y.py": "# @EXPECTED_RESULTS@: SPLENDID\n",
            "submissions/mixed/z.py": "# @EXPECTED_SCORE@: much\n",
        }
    )
    assert of(problem, "slow/x.py").expectation == Expectation()
    assert "submissions/slow/x.py: its expected result is not given." in problem.warnings
    assert any("has 'SPLENDID', which is ignored" in each for each in problem.warnings)
    assert any("has 'much', which is not a number" in each for each in problem.warnings)


def test_submissions_are_files_or_directories_with_sources(packages: PackageBuilder) -> None:
    problem = packages.legacy(
        {
            "submissions/accepted/dir/Main.java": "",
            "submissions/accepted/dir/notes.txt": "",
            "submissions/accepted/x.c++": "",
            "submissions/accepted/README.md": "",
            "submissions/accepted/Main.class": b"",
            "submissions/accepted/a.out": b"",
            "submissions/accepted/__pycache__/sum.cpython-311.pyc": b"",
            "submissions/accepted/.sum.py.swp": b"",
            "submissions/accepted/empty/notes.txt": "",
            "submissions/stray.py": "",
        }
    )
    assert [each.path for each in problem.submissions] == [
        "submissions/accepted/dir",
        "submissions/accepted/sum.py",
        "submissions/accepted/x.c++",
    ]
    ignored = {w.partition(":")[0] for w in problem.warnings if "no language has" in w}
    assert ignored == {
        f"submissions/accepted/{name}" for name in ("Main.class", "README.md", "a.out", "empty")
    }
    assert any("ignored stray.py" in each for each in problem.warnings)


def test_a_package_without_an_accepted_submission_is_warned_of(
    packages: PackageBuilder,
) -> None:
    problem = packages.legacy({"submissions/accepted/sum.py": None})
    assert problem.submissions == ()
    assert "submissions/accepted: there is no accepted submission." in problem.warnings


def test_a_pass_fail_problem_has_no_partially_accepted_submissions(
    packages: PackageBuilder,
) -> None:
    problem = packages.legacy({"submissions/partially_accepted/x.py": ""})
    told = "submissions/partially_accepted/x.py: only scoring problems accept in part."
    assert told in problem.warnings


def test_a_submission_for_python_2_is_warned_of(packages: PackageBuilder) -> None:
    problem = packages.legacy({"submissions/accepted/old.py": "#!/usr/bin/env python2\n"})
    assert of(problem, "accepted/old.py").language is None
    told = "submissions/accepted/old.py: is for Python 2, and is run with Python 3."
    assert told in problem.warnings


@pytest.mark.parametrize(
    ("tag", "verdicts", "rules"),
    [
        ("@EXPECTED_SCORE@: CORRECT", (Verdict.ACCEPTED,), 0),
        ("@EXPECTED_SCORE@: CHECK_MANUALLY", (), 0),
        ("@EXPECTED_SCORE@: 12.5", (), 1),
    ],
)
def test_verdicts_are_accepted_in_score_tags(
    packages: PackageBuilder, tag: str, verdicts: tuple[Verdict, ...], rules: int
) -> None:
    problem = packages.legacy({"submissions/mixed/x.py": f"# {tag}\n"}, "type: scoring\n")
    expectation = of(problem, "mixed/x.py").expectation
    assert (expectation.verdicts, len(expectation.rules)) == (verdicts, rules)


OLD_GROUPS: Files = {
    "data/testdata.yaml": "on_reject: continue\ngrader_flags: ignore_sample\nrange: 0 50\n",
    "data/secret/one/testdata.yaml": "accept_score: 50\nrange: 0 50\ngrader_flags: min\n",
    "data/secret/one/1.in": "",
    "data/secret/one/1.ans": "",
    "data/secret/01.in": None,
    "data/secret/01.ans": None,
    "submissions/partially_accepted/half.py": "",
}


def test_a_draft_with_groups_of_the_legacy_format_has_its_labels_too(
    packages: PackageBuilder,
) -> None:
    """As problemtools' own examples are."""
    problem = packages.draft(OLD_GROUPS, "type: scoring\n")
    assert of(problem, "partially_accepted/half.py").expectation.not_best_score
    (_, secret) = problem.tests.items
    assert isinstance(secret, Group)
    (one,) = secret.items
    assert isinstance(one, Group)
    assert (one.accept_score, one.highest) == (50, 50)
    assert problem.tests.highest == 50


def test_the_same_groups_are_unknown_in_2025(
    packages: PackageBuilder, refusal: Refusal
) -> None:
    told = refusal(packages.modern, OLD_GROUPS, "type: scoring\n")
    assert "data/testdata.yaml is of older versions" in told


def test_domjudges_submissions_json_names_entry_points(packages: PackageBuilder) -> None:
    problem = packages.legacy(
        {
            "submissions/accepted/dir/hello.js": "",
            "submissions/accepted/dir/main.js": "",
            "submissions.json": (
                '{"submissions/accepted/dir/": {"entry_point": "hello.js", "langid": "js"}}'
            ),
        }
    )
    found = of(problem, "accepted/dir")
    assert (found.entry, found.language) == ("hello.js", "js")


@pytest.mark.parametrize("text", ["[", "[]", '{"a": 5}'])
def test_a_wrong_submissions_json_is_refused(
    packages: PackageBuilder, refusal: object, text: str
) -> None:
    assert callable(refusal)
    assert refusal(packages.legacy, {"submissions.json": text}).startswith("submissions.json")
