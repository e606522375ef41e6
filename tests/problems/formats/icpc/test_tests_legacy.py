"""Test data of the legacy format: groups, inherited keys, graders, flags."""

from collections.abc import Callable

import pytest

from deemster.domain.problem import (
    Aggregation,
    Case,
    Compare,
    Comparison,
    CustomGrader,
    DefaultGrader,
    Group,
    Problem,
    ProgramCheck,
    SampleFiles,
    ValidatorArgs,
)
from tests.problems.formats.icpc.conftest import PackageBuilder

Refusal = Callable[..., str]
SCORING = "type: scoring\n"


def pair(name: str) -> dict[str, str]:
    return {f"data/{name}.in": "1 1\n", f"data/{name}.ans": "2\n"}


def group(problem: Problem, name: str) -> Group:
    return next(each for each in problem.tests.groups() if each.name == name)


def case(problem: Problem, name: str) -> Case:
    return next(each for each in problem.tests.cases() if each.name == name)


def test_the_root_contains_samples_and_secret_cases(packages: PackageBuilder) -> None:
    tests = packages.legacy().tests
    assert [item.name for item in tests.items] == ["sample", "secret"]
    assert [each.name for each in tests.cases()] == ["sample/1", "secret/01"]
    sample, secret = tests.cases()
    assert sample.is_sample
    assert not secret.is_sample
    assert secret.input == "data/secret/01.in"
    assert secret.answer == "data/secret/01.ans"
    assert all(each.stop_at_reject for each in tests.groups())
    assert all(each.grading == DefaultGrader() for each in tests.groups())


def test_cases_and_groups_come_in_the_order_of_their_base_names(
    packages: PackageBuilder,
) -> None:
    names = ["a-b", "a", "a.b", "10", "2", "b/1", "a1", "B"]
    files = {key: text for name in names for key, text in pair(f"secret/{name}").items()}
    problem = packages.legacy({**files, "data/secret/01.in": None, "data/secret/01.ans": None})
    found = [item.name.removeprefix("secret/") for item in group(problem, "secret").items]
    assert found == ["10", "2", "B", "a", "a-b", "a.b", "a1", "b"]


def test_groups_may_be_nested(packages: PackageBuilder) -> None:
    problem = packages.legacy({**pair("secret/g/h/1"), **pair("secret/g/2")})
    assert [each.name for each in problem.tests.groups()] == [
        *("", "sample", "secret", "secret/g", "secret/g/h"),
    ]
    assert [each.name for each in group(problem, "secret").cases()] == [
        *("secret/01", "secret/g/2", "secret/g/h/1"),
    ]


@pytest.mark.parametrize(
    ("files", "told"),
    [
        ({"data/secret/2.in": ""}, "data/secret/2.in has no answer: add data/secret/2.ans."),
        ({"data/secret/2.ans": ""}, "data/secret/2.ans has no input: add data/secret/2.in."),
        ({"data/1.in": "", "data/1.ans": ""}, "belong in data/sample and data/secret"),
        (
            {
                f"data/{name}": None
                for name in ("sample/1.in", "sample/1.ans", "secret/01.in", "secret/01.ans")
            },
            "data/secret: there are no test cases",
        ),
    ],
)
def test_incomplete_test_data_is_refused(
    packages: PackageBuilder, refusal: Refusal, files: dict[str, str | None], told: str
) -> None:
    assert told in refusal(packages.legacy, files)


def test_an_interactive_case_without_an_answer_is_warned_of(packages: PackageBuilder) -> None:
    problem = packages.legacy(
        {"data/secret/2.in": "1\n", "output_validators/talk.py": ""},
        "validation: custom interactive\n",
    )
    assert case(problem, "secret/2").answer == ""
    assert any("data/secret/2.in has no answer file" in each for each in problem.warnings)


def test_other_files_are_ignored(packages: PackageBuilder) -> None:
    problem = packages.legacy(
        {
            "data/generator.sh": "",
            "data/secret/.hidden.in": "",
            "data/secret/notes.txt": "",
            "data/secret/01.png": b"",
            "data/secret/unpaired.desc": "",
            "data/secret/empty/readme.txt": "",
            "data/old/1.in": "",
        }
    )
    assert [each.name for each in problem.tests.cases()] == ["sample/1", "secret/01"]
    assert "data/secret: ignored notes.txt: they are not test data." in problem.warnings
    assert "data/secret: ignored unpaired.desc: there is no input of that name." in (
        problem.warnings
    )
    assert "data: ignored old: only sample and secret are judged." in problem.warnings
    assert any("data/secret/empty: ignored" in each for each in problem.warnings)


def test_hints_and_descriptions_are_read(packages: PackageBuilder) -> None:
    problem = packages.legacy(
        {"data/secret/01.hint": "Think.\n", "data/secret/01.desc": "Big\n"}
    )
    assert case(problem, "secret/01").hint == "Think."
    assert case(problem, "secret/01").description == "Big"


# ---- inheritance ----


def test_a_group_without_a_file_inherits_all_keys(packages: PackageBuilder) -> None:
    problem = packages.legacy(
        {
            **pair("secret/g/1"),
            "data/secret/testdata.yaml": (
                "on_reject: continue\ngrader_flags: min first_error\naccept_score: 5\n"
                "reject_score: -1\nrange: -5 +inf\n"
            ),
        },
        SCORING,
    )
    for name in ("secret", "secret/g"):
        found = group(problem, name)
        assert found.grading == DefaultGrader("first_error", Aggregation.MIN)
        assert not found.stop_at_reject
        assert (found.accept_score, found.reject_score) == (5, -1)
        assert (found.lowest, found.highest) == (-5, float("inf"))
    assert group(problem, "sample").accept_score == 1


def test_a_group_with_a_file_inherits_the_keys_that_it_leaves_out(
    packages: PackageBuilder,
) -> None:
    """As verifyproblem and BAPCtools do; the specification would start anew."""
    problem = packages.legacy(
        {
            **pair("secret/g/1"),
            "data/testdata.yaml": "on_reject: continue\ngrader_flags: ignore_sample\n",
            "data/secret/testdata.yaml": "grader_flags: max\naccept_score: 7\n",
            "data/secret/g/testdata.yaml": "accept_score: 3\n",
        },
        SCORING,
    )
    inner = group(problem, "secret/g")
    assert inner.accept_score == 3
    assert inner.grading == DefaultGrader(score=Aggregation.MAX)
    assert not inner.stop_at_reject
    root = problem.tests.grading
    assert isinstance(root, DefaultGrader)
    assert root.ignore_sample
    sample = group(problem, "sample").grading
    assert isinstance(sample, DefaultGrader)
    assert not sample.ignore_sample


def test_grading_in_problem_yaml_holds_for_all_groups(packages: PackageBuilder) -> None:
    grading = "grading: {accept_score: 4, reject_score: 1, range: 0 9, on_reject: grade}\n"
    problem = packages.legacy({"data/testdata.yaml": "accept_score: 2\n"}, SCORING + grading)
    for each in problem.tests.groups():
        assert (each.accept_score, each.reject_score) == (4, 1)
        assert (each.lowest, each.highest) == (0, 9)
        assert not each.stop_at_reject


@pytest.mark.parametrize(
    ("flags", "grader"),
    [
        ("", DefaultGrader()),
        ("always_accept avg", DefaultGrader("always_accept", Aggregation.AVERAGE)),
        ("min max sum", DefaultGrader(score=Aggregation.SUM)),
        ("first_error worst_error", DefaultGrader("worst_error")),
        ("always_accept no_errors min", DefaultGrader("worst_error", Aggregation.MIN)),
        ("accept_if_any_accepted", DefaultGrader(accept_if_any=True)),
    ],
)
def test_the_last_of_grader_flags_counts(
    packages: PackageBuilder, flags: str, grader: DefaultGrader
) -> None:
    problem = packages.legacy(
        {"data/secret/testdata.yaml": f"grader_flags: '{flags}'\n"}, SCORING
    )
    assert group(problem, "secret").grading == grader
    assert not any("doesn't know" in warning for warning in problem.warnings)


def test_unknown_grader_flags_are_warned_of(packages: PackageBuilder) -> None:
    problem = packages.legacy({"data/testdata.yaml": "grader_flags: median\n"}, SCORING)
    assert "data/testdata.yaml: the default grader doesn't know median." in problem.warnings


def test_a_custom_grader_gets_its_flags(packages: PackageBuilder) -> None:
    problem = packages.legacy(
        {
            "graders/grade.py": "",
            "data/testdata.yaml": "grading: custom\ngrader_flags: all 20 'a b'\n",
        },
        SCORING,
    )
    assert problem.grader is not None
    assert problem.grader.path == "graders/grade.py"
    assert problem.tests.grading == CustomGrader(("all", "20", "a b"))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("grading: custom\n", "the key 'grading' is custom: put a program into graders/."),
        ("grading: mine\n", "the key 'grading' should be 'default' or 'custom'"),
        ("on_reject: stop\n", "the key 'on_reject' should be 'break' or 'continue'"),
        ("range: 5\n", "the key 'range' must be two numbers"),
        ("range: 5 1\n", "the key 'range' must have the smaller number first"),
        ("accept_score: much\n", "the key 'accept_score' should be a valid number"),
        ("run_samples: true\n", "the key 'run_samples' is not known"),
        ("output_validator_flags: odd\n", "the key 'output_validator_flags' has 'odd'"),
        ("output_validator_flags: {flags: x}\n", "'output_validator_flags' names no validator"),
        ("output_validator_flags: {name: x}\n", "names 'x', which is not an output validator"),
        ("output_validator_flags: {a: '', b: ''}\n", "names several validators"),
        ("grader_flags: {a: b}\n", "the key 'grader_flags' should be a valid tuple"),
        ("- a\n", "must be a map of names to values"),
        ("grader_flags: ignore_sample\n", "the key 'on_reject' must be continue"),
    ],
)
def test_a_wrong_key_of_a_group_is_refused_by_file_and_name(
    packages: PackageBuilder, refusal: Refusal, text: str, told: str
) -> None:
    said = refusal(packages.legacy, {"data/testdata.yaml": text}, yaml=SCORING)
    assert said.startswith("data/testdata.yaml")
    assert told in said


@pytest.mark.parametrize("key", ["accept_score: 2", "reject_score: 2", "range: 0 1"])
def test_a_pass_fail_problem_has_no_scores(
    packages: PackageBuilder, refusal: Refusal, key: str
) -> None:
    said = refusal(packages.legacy, {"data/secret/testdata.yaml": f"{key}\n"})
    name = key.partition(":")[0]
    assert said.startswith(f"data/secret/testdata.yaml: the key '{name}' is only for")


def test_samples_are_ignored_at_the_root_only(
    packages: PackageBuilder, refusal: Refusal
) -> None:
    files = {"data/secret/testdata.yaml": "grader_flags: ignore_sample\n"}
    assert "only data/ may have that" in refusal(packages.legacy, files, yaml=SCORING)


def test_a_duplicate_key_is_only_warned_of(packages: PackageBuilder) -> None:
    text = "input_validator_flags: maxn=5\ninput_validator_flags: maxm=1\n"
    problem = packages.legacy({"data/secret/testdata.yaml": text})
    assert case(problem, "secret/01").input_validator_args.of("any") == ("maxm=1",)
    assert any("'input_validator_flags' appears twice" in each for each in problem.warnings)


# ---- flags ----


def test_flags_of_the_default_validator_become_a_comparison(packages: PackageBuilder) -> None:
    problem = packages.legacy(
        {
            **pair("secret/g/1"),
            "data/secret/g/testdata.yaml": (
                "output_validator_flags: case_sensitive float_absolute_tolerance 0.5\n"
            ),
        },
        "validator_flags: float_tolerance 1e-6\n",
    )
    assert problem.checker == Comparison(
        Compare.TOKENS, case_sensitive=False, absolute=1e-6, relative=1e-6
    )
    assert case(problem, "secret/01").checker is None
    assert case(problem, "secret/g/1").checker == Comparison(
        Compare.TOKENS, case_sensitive=True, absolute=0.5, relative=1e-6
    )


def test_flags_of_custom_validators_become_arguments(packages: PackageBuilder) -> None:
    problem = packages.legacy(
        {
            "output_validators/check.py": "",
            "data/secret/testdata.yaml": "output_validator_flags: --more 'x y'\n",
        },
        "validation: custom\nvalidator_flags: --first\n",
    )
    assert case(problem, "sample/1").checker_args == ("--first",)
    assert case(problem, "secret/01").checker_args == ("--first", "--more", "x y")
    assert case(problem, "secret/01").checker is None


def test_a_group_may_name_its_validator(packages: PackageBuilder) -> None:
    problem = packages.legacy(
        {
            "output_validators/one.py": "",
            "output_validators/two.py": "",
            "data/secret/testdata.yaml": "output_validator_flags: {name: two, flags: -x}\n",
        },
        "validation: custom\n",
    )
    assert isinstance(problem.checker, ProgramCheck)
    assert [each.name for each in problem.checker.programs] == ["one.py", "two.py"]
    chosen = case(problem, "secret/01").checker
    assert isinstance(chosen, ProgramCheck)
    assert [each.name for each in chosen.programs] == ["two.py"]
    assert case(problem, "secret/01").checker_args == ("-x",)


def test_flags_of_input_validators_are_for_all_or_for_one(packages: PackageBuilder) -> None:
    problem = packages.legacy(
        {
            **pair("secret/g/1"),
            **pair("secret/h/1"),
            "data/secret/testdata.yaml": "input_validator_flags: 100\n",
            "data/secret/g/testdata.yaml": (
                "input_validator_flags: {name: check, flags: a b}\n"
            ),
            "data/secret/h/testdata.yaml": "input_validator_flags: {check.py: c, gone: d}\n",
        }
    )
    assert case(problem, "secret/01").input_validator_args == ValidatorArgs(("100",))
    named = case(problem, "secret/g/1").input_validator_args
    assert (named.of("check.py"), named.of("other.py")) == (("a", "b"), ())
    assert case(problem, "secret/h/1").input_validator_args.of("check.py") == ("c",)
    assert any("'gone' is not an input validator" in each for each in problem.warnings)


# ---- samples ----


def test_samples_show_their_files(packages: PackageBuilder) -> None:
    problem = packages.legacy()
    assert case(problem, "sample/1").shown == SampleFiles(
        "data/sample/1.in", "data/sample/1.ans"
    )
    assert case(problem, "secret/01").shown == SampleFiles()


def test_an_interactive_problem_shows_interactions_only(packages: PackageBuilder) -> None:
    problem = packages.legacy(
        {
            "data/sample/1.interaction": ">1\n<2\n",
            **pair("sample/2"),
            "data/sample/3.interaction": ">2\n",
            "output_validators/talk.py": "",
        },
        "validation: custom interactive\n",
    )
    assert case(problem, "sample/1").shown == SampleFiles(
        interaction="data/sample/1.interaction"
    )
    assert case(problem, "sample/2").shown == SampleFiles()
    assert problem.samples == (SampleFiles(interaction="data/sample/3.interaction"),)


def test_a_package_may_have_interactions_as_its_only_samples(packages: PackageBuilder) -> None:
    problem = packages.legacy(
        {
            "data/sample/1.in": None,
            "data/sample/1.ans": None,
            "data/sample/1.interaction": ">1\n",
            "output_validators/talk.py": "",
        },
        "validation: custom interactive\n",
    )
    assert [item.name for item in problem.tests.items] == ["secret"]
    assert len(problem.samples) == 1
