"""submissions.yaml of 2025-09: patterns, expectations, time limits."""

from collections.abc import Callable

import pytest

from deemster.domain.expectation import AC, RTE, TLE, WA, CaseRule, Expectation
from deemster.domain.problem import ExampleSubmission, Problem
from deemster.domain.verdict import Verdict
from tests.problems.formats.icpc.conftest import PackageBuilder

V = Verdict
FILE = "submissions/submissions.yaml"
Refusal = Callable[..., str]
FAILED = WA | TLE | RTE


def of(problem: Problem, name: str) -> ExampleSubmission:
    return next(each for each in problem.submissions if each.path == f"submissions/{name}")


def expectation(
    packages: PackageBuilder, yaml: str, name: str = "accepted/sum.py", kind: str = ""
) -> Expectation:
    problem = packages.modern({FILE: yaml, f"submissions/{name}": ""}, kind)
    return of(problem, name).expectation


@pytest.mark.parametrize(
    ("directory", "verdicts", "rule", "bound"),
    [
        ("accepted", {V.ACCEPTED}, CaseRule(permitted=AC), "lower"),
        ("rejected", FAILED, CaseRule(required=FAILED), None),
        ("wrong_answer", WA, CaseRule(permitted=AC | WA, required=WA), "lower"),
        ("time_limit_exceeded", TLE, CaseRule(permitted=AC | TLE, required=TLE), "upper"),
        ("run_time_error", RTE, CaseRule(permitted=AC | RTE, required=RTE), "lower"),
        (
            "brute_force",
            RTE | TLE,
            CaseRule(permitted=AC | RTE | TLE, required=RTE | TLE),
            None,
        ),
    ],
)
def test_default_directories_have_rules(
    packages: PackageBuilder,
    directory: str,
    verdicts: set[Verdict],
    rule: CaseRule,
    bound: str | None,
) -> None:
    problem = packages.modern({f"submissions/{directory}/x.py": ""})
    found = of(problem, f"{directory}/x.py").expectation
    assert set(found.verdicts) == verdicts
    assert found.rules == (rule,)
    assert found.time_bound == bound


def test_in_scoring_problems_partial_agrees_with_accepted(packages: PackageBuilder) -> None:
    found = expectation(packages, "", "wrong_answer/x.py", "type: scoring\n")
    assert found.verdicts == (V.WRONG_ANSWER, V.OUTPUT_LIMIT, V.PARTIAL)
    found = expectation(packages, "", kind="type: scoring\n")
    assert found.verdicts == (V.ACCEPTED, V.PARTIAL)


def test_all_keys_are_read(packages: PackageBuilder) -> None:
    problem = packages.modern(
        {
            FILE: """
accepted/dir:
  language: python3
  entrypoint: start.py
  authors: [Ann <a@x.example>, {name: Bob}]
  model_solution: true
  message: fine
  score: [50, 100]
  secret:
    score: 100
    message: well
""",
            "submissions/accepted/dir/start.py": "",
        },
        "type: scoring\n",
    )
    found = of(problem, "accepted/dir")
    assert (found.language, found.entry, found.is_model) == ("python3", "start.py", True)
    assert found.expectation.rules == (
        CaseRule(permitted=AC),
        CaseRule(message="fine", score=(50, 100)),
        CaseRule(cases="secret", message="well", score=(100, 100)),
    )


def test_a_pattern_adds_to_the_rules_of_its_directory(packages: PackageBuilder) -> None:
    found = expectation(
        packages,
        "wrong_answer/*: {sample: {permitted: [AC]}}\n"
        "wrong_answer/x.{py, cpp}: {message: nope}\n",
        "wrong_answer/x.py",
    )
    assert found.rules == (
        CaseRule(permitted=AC | WA, required=WA),
        CaseRule(cases="sample", permitted=AC),
        CaseRule(message="nope"),
    )


def test_the_name_of_a_directory_replaces_its_defaults_key_by_key(
    packages: PackageBuilder,
) -> None:
    found = expectation(
        packages,
        "time_limit_exceeded/: {permitted: [AC, WA, TLE]}\n",
        "time_limit_exceeded/x.py",
    )
    assert found.rules == (CaseRule(permitted=AC | WA | TLE, required=TLE),)
    assert set(found.verdicts) == WA | TLE
    assert found.time_bound == "upper"


def test_the_file_may_describe_further_directories(packages: PackageBuilder) -> None:
    found = expectation(packages, "either: {permitted: [AC, WA]}\n", "either/x.py")
    assert found.verdicts == (V.ACCEPTED, V.WRONG_ANSWER, V.OUTPUT_LIMIT)


def test_a_submission_in_an_unknown_directory_needs_a_tag(packages: PackageBuilder) -> None:
    problem = packages.modern(
        {
            "submissions/mixed/x.py": "# @EXPECTED_RESULTS@: CORRECT, TIMELIMIT\n",
            "submissions/mixed/y.py": "",
        }
    )
    assert of(problem, "mixed/x.py").expectation.verdicts == (
        V.ACCEPTED,
        V.TIME_LIMIT,
        V.OUTPUT_LIMIT,
    )
    assert of(problem, "mixed/y.py").expectation == Expectation()
    assert "submissions/mixed/y.py: its expected result is not given." in problem.warnings


@pytest.mark.parametrize(
    ("yaml", "bound"),
    [
        ("accepted: {use_for_time_limit: false}\n", None),
        ("accepted: {use_for_time_limit: true}\n", "lower"),
        ("accepted: {permitted: [AC, TLE]}\n", None),
        ("accepted: {permitted: [AC, TLE], use_for_time_limit: lower}\n", "lower"),
        ("accepted: {permitted: [AC, TLE], use_for_time_limit: upper}\n", "upper"),
        ("accepted: {permitted: [AC, TLE], required: [TLE, RTE]}\n", None),
    ],
)
def test_rules_bound_the_time_limit_by_default(
    packages: PackageBuilder, yaml: str, bound: str | None
) -> None:
    assert expectation(packages, yaml).time_bound == bound


@pytest.mark.parametrize(
    ("yaml", "bounds", "lower"),
    [
        (
            "accepted: {use_for_time_limit: false, sample: {permitted: [AC]}}\n",
            (("sample", "lower"),),
            ["sample/1"],
        ),
        (
            "accepted: {permitted: [AC, TLE], secret: {required: [TLE]}}\n",
            (("secret", "upper"),),
            [],
        ),
        (
            (
                "accepted: {permitted: [AC, TLE], secret/b: {required: [TLE]}, "
                "'secret/{a, c}': {permitted: [AC]}}\n"
            ),
            (("secret/b", "upper"), ("secret/{a, c}", "lower")),
            ["secret/a/1", "secret/c/1"],
        ),
    ],
)
def test_rules_for_groups_bound_the_time_limit_by_their_own_cases(
    packages: PackageBuilder, yaml: str, bounds: tuple[object, ...], lower: list[str]
) -> None:
    found = expectation(packages, yaml)
    assert (found.time_bound, found.group_bounds) == (None, bounds)
    cases = ["sample/1", "secret/a/1", "secret/b/1", "secret/c/1"]
    assert [each for each in cases if found.is_lower_bound(each)] == lower


def test_braces_may_name_directories_and_contain_braces(packages: PackageBuilder) -> None:
    yaml = "'{accepted,time_limit_exceeded}': {permitted: [AC, TLE]}\n"
    assert expectation(packages, yaml, "accepted/x.py").rules == (CaseRule(permitted=AC | TLE),)
    yaml = "'accepted/{x.{py,cpp}, y}': {message: nope}\n"
    assert CaseRule(message="nope") in expectation(packages, yaml, "accepted/x.cpp").rules
    assert CaseRule(message="nope") not in expectation(packages, yaml, "accepted/z.py").rules


def test_an_unbounded_time_limit_is_warned_of(packages: PackageBuilder) -> None:
    files = {FILE: "accepted: {use_for_time_limit: false}\n"}
    told = "submissions: none of them is used to find the time limit."
    assert told in packages.modern(files).warnings
    assert told not in packages.modern(files, "limits: {time_limit: 2}\n").warnings


def test_an_explicit_bound_is_a_rule_too(packages: PackageBuilder) -> None:
    found = expectation(packages, "own: {use_for_time_limit: upper}\n", "own/x.py")
    assert found.rules == (CaseRule(required=TLE),)
    found = expectation(packages, "own: {use_for_time_limit: lower}\n", "own/x.py")
    assert found.rules == (CaseRule(permitted=AC | WA | RTE),)


@pytest.mark.parametrize(
    ("yaml", "told"),
    [
        ("accepted: {permited: [AC]}\n", "'accepted.permited' is not known (is 'permitted'"),
        ("accepted: {permitted: [OK]}\n", "the key 'accepted.permitted.0' should be 'AC'"),
        ("accepted: {permitted: AC}\n", "the key 'accepted.permitted' should be a valid tuple"),
        ("accepted: {score: 5}\n", "the key 'accepted.score' is only for scoring problems"),
        ("accepted: {secret: {score: 5}}\n", "'accepted.secret.score' is only for scoring"),
        ("accepted: {score: [3, 1]}\n", "the key 'accepted.score' must have its smaller"),
        ("accepted: {score: full}\n", "the key 'accepted.score' must be a number"),
        ("accepted: {message: 5}\n", "the key 'accepted.message' should be a valid string"),
        ("accepted: {model_solution: 'no'}\n", "'accepted.model_solution' should be a valid"),
        ("accepted: {use_for_time_limit: both}\n", "'accepted.use_for_time_limit' must be"),
        ("accepted: {authors: 5}\n", "the key 'accepted.authors' must be a name"),
        (
            "accepted: {secret/*: {permitted: [AC], x: 1}}\n",
            "'accepted.secret/*.x' is not known",
        ),
        ("accepted: {secret: [AC]}\n", "the key 'accepted.secret' must be a map"),
        ("accepted: [AC]\n", "the key 'accepted' must be a map"),
        ("accepted/**: {}\n", "the key 'accepted/**' has a pattern with more than"),
        ("accepted/[ab].py: {}\n", "has a pattern with more than"),
        ("'accepted/{a,b}{a,b}{a,b}{a,b}{a,b}': {}\n", "a pattern for too many names"),
        ("accepted/sum.py: {permitted: [WA]}\n", "'accepted/sum.py' has no permitted verdict"),
        ("accepted: {}\naccepted: {}\n", "the key 'accepted' appears twice"),
        ("- accepted\n", "must be a map of names to values"),
        ("5: {}\n", "the key '5' is not text"),
    ],
)
def test_a_wrong_key_is_refused_by_file_and_name(
    packages: PackageBuilder, refusal: Refusal, yaml: str, told: str
) -> None:
    said = refusal(packages.modern, {FILE: yaml})
    assert said.startswith(FILE)
    assert told in said


def test_unused_patterns_and_contradictions_are_warned_of(
    packages: PackageBuilder,
) -> None:
    problem = packages.modern(
        {
            FILE: "accepted/gone.py: {}\naccepted/sum.py: {required: [WA]}\nempty: {}\n",
        }
    )
    assert f"{FILE}: no submission is called accepted/gone.py." in problem.warnings
    assert f"{FILE}: no submission is called empty." in problem.warnings
    assert f"{FILE}: accepted/sum.py must get a verdict that it isn't permitted." in (
        problem.warnings
    )


def test_with_a_language_any_file_is_a_submission(packages: PackageBuilder) -> None:
    problem = packages.modern(
        {
            FILE: "accepted/x.txt: {language: python3}\naccepted: {language: cpp}\n",
            "submissions/accepted/x.txt": "",
        }
    )
    assert of(problem, "accepted/x.txt").language == "python3"
    told = f"{FILE}: accepted/x.txt has several languages: python3 is used."
    assert told in problem.warnings


def test_a_legacy_package_has_no_such_file(packages: PackageBuilder) -> None:
    problem = packages.legacy({FILE: "accepted: {permitted: [WA]}\n"})
    assert problem.submissions[0].expectation.verdicts == (V.ACCEPTED,)
    assert f"{FILE}: ignored, because it is of 2025-09." in problem.warnings
