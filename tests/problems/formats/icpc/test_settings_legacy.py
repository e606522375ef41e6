"""problem.yaml of the legacy format, and DOMjudge files."""

from collections.abc import Callable

import pytest

from deemster.domain.problem import Comparison, ProblemLimits
from tests.problems.formats.icpc.conftest import PackageBuilder

MIB = 1024 * 1024
Refusal = Callable[..., str]


def test_an_empty_problem_yaml_has_all_defaults(packages: PackageBuilder) -> None:
    problem = packages.legacy({"problem.yaml": ""})
    assert problem.format == "legacy"
    assert problem.names == {"en": "Sum"}
    assert problem.slug == "sum"
    assert problem.limits == ProblemLimits(
        time_ms=None, accepted_to_limit=5, limit_to_tle=2, resolution_ms=1000
    )
    assert not problem.scoring
    assert problem.show_groups is False
    assert problem.languages is None
    assert problem.license == "unknown"


def test_all_keys_are_read(packages: PackageBuilder) -> None:
    problem = packages.legacy(
        {
            "problem.yaml": """
problem_format_version: legacy
type: scoring
name: Add them
uuid: 7594abe6-08e3-4743-8cf9-15c4693cdbf5
author: Ann and Bob
source: A contest
source_url: https://contest.example
license: cc by-sa
rights_owner: Ann
limits:
  time_multiplier: 3
  time_safety_margin: 1.5
  memory: 256
  output: 4
  code: 64
  compilation_time: 30
  compilation_memory: 512
  validation_time: 20
  validation_memory: 128
  validation_output: 2
validation: default
validator_flags: float_tolerance 1e-6
grading: {objective: min, show_test_data_groups: true}
keywords: easy math
"""
        }
    )
    assert problem.limits == ProblemLimits(
        accepted_to_limit=3,
        limit_to_tle=1.5,
        memory_bytes=256 * MIB,
        output_bytes=4 * MIB,
        code_bytes=64 * 1024,
        compile_ms=30_000,
        compile_memory_bytes=512 * MIB,
        validation_ms=20_000,
        validation_memory_bytes=128 * MIB,
        validation_output_bytes=2 * MIB,
    )
    assert problem.scoring
    assert problem.objective == "min"
    assert problem.show_groups
    assert problem.keywords == ("easy", "math")
    assert problem.credits == "Ann and Bob"
    assert problem.source == "A contest (https://contest.example)"
    assert problem.license == "cc by-sa"
    assert problem.uuid == "7594abe6-08e3-4743-8cf9-15c4693cdbf5"
    assert problem.warnings == ()


@pytest.mark.parametrize(
    ("yaml", "told"),
    [
        ("credits: Ann\n", "the key 'credits' is not known"),
        ("limitz: {}\n", "the key 'limitz' is not known (is 'limits' meant?)"),
        ("limits: {memroy: 5}\n", "the key 'limits.memroy' is not known"),
        ("limits: {memory: lots}\n", "the key 'limits.memory' should be a valid integer"),
        ("limits: {memory: 0}\n", "the key 'limits.memory' should be greater than 0"),
        ("limits: {time_multiplier: .nan}\n", "the key 'limits.time_multiplier' should be"),
        ("limits: 5\n", "the key 'limits' must be a map"),
        ("type: interactive-ish\n", "the key 'type' is 'interactive-ish'"),
        ("type: pass-fail scoring\n", "the key 'type' is both pass-fail and scoring"),
        ("author: [Ann, Bob]\n", "the key 'author' should be a valid string"),
        ("validation: own\n", "the key 'validation' must begin with default or custom"),
        ("validation: ''\n", "the key 'validation' must begin with default or custom"),
        ("validation: default score\n", "the key 'validation' has 'score'"),
        ("validation: custom loud\n", "the key 'validation' has 'loud'"),
        ("validation: custom score\n", "the key 'validation' has 'score', which needs"),
        ("grading: {goal: max}\n", "the key 'grading.goal' is not known"),
        (
            "grading: {objective: most}\n",
            "the key 'grading.objective' should be 'max' or 'min'",
        ),
        (
            "grading: {show_test_data_groups: true}\n",
            "the key 'grading.show_test_data_groups' is only for 'type: scoring'",
        ),
        ("grading: {range: 0 5}\n", "the key 'grading.range' is only for 'type: scoring'"),
        ("type: scoring\ngrading: {range: many}\n", "the key 'grading.range' must be two"),
        ("validator_flags: float_tolerance\n", "the key 'validator_flags' needs a number"),
        ("validator_flags: fuzzy\n", "the key 'validator_flags' has 'fuzzy'"),
        ("validator_flags: float_tolerance -1\n", "not '-1'"),
        ("problem_format_version: 1999\n", "the key 'problem_format_version' is 1999"),
        ("problem_format_version: draft\n", "the key 'problem_format_version' is 'draft'"),
    ],
)
def test_a_wrong_key_is_refused_by_file_and_name(
    packages: PackageBuilder, refusal: Refusal, yaml: str, told: str
) -> None:
    said = refusal(packages.legacy, yaml=yaml)
    assert said.startswith("problem.yaml: ")
    assert told in said


@pytest.mark.parametrize(
    ("yaml", "key"),
    [
        ("type: scoring\n", "type"),
        ("validation: custom score\n", "validation"),
        ("grading: {objective: max}\n", "grading"),
    ],
)
def test_the_icpc_subset_has_no_scores(
    packages: PackageBuilder, refusal: Refusal, yaml: str, key: str
) -> None:
    said = refusal(packages.legacy, yaml=f"problem_format_version: legacy-icpc\n{yaml}")
    assert f"problem.yaml: the key '{key}'" in said


def test_the_icpc_subset_is_named_as_such(packages: PackageBuilder) -> None:
    assert packages.legacy(yaml="problem_format_version: legacy-icpc\n").format == "legacy-icpc"


def test_keys_of_other_tools_are_accepted(packages: PackageBuilder) -> None:
    problem = packages.legacy(
        yaml="""
type: pass-fail
verified: true
comment: fine
ans_is_output: true
version: 1.0
embargo_until: 2026-01-01
languages: all
libraries:
keywords: [a, b]
limits: {generator_time: 5, visualizer_time: 5, time_for_AC_submissions: 9}
source_url:
rights_owner:
uuid:
"""
    )
    assert problem.keywords == ("a", "b")


def test_names_may_be_a_map(packages: PackageBuilder) -> None:
    problem = packages.legacy(
        {
            "problem.yaml": "name: {en: Sum, de: Summe}\n",
            "problem_statement/problem.en.tex": "No name.\n",
            "problem_statement/problem.de.tex": "Kein Name.\n",
        }
    )
    assert problem.names == {"de": "Summe", "en": "Sum"}


def test_a_duplicate_key_is_only_warned_of(packages: PackageBuilder) -> None:
    problem = packages.legacy({"problem.yaml": "name: A\nkeywords: x\nkeywords: y\n"})
    assert problem.keywords == ("y",)
    assert "problem.yaml: the key 'keywords' appears twice: the last one counts." in (
        problem.warnings
    )


@pytest.mark.parametrize(
    ("yaml", "told"),
    [
        ("license: gpl\n", "the license 'gpl' is not one of"),
        ("license: cc by\n", "needs an author, source or rights_owner"),
        ("license: public domain\nrights_owner: Ann\n", "has no rights_owner"),
        ("uuid: 12-34\n", "'12-34' is not a UUID"),
        ("source_url: https://x.example\n", "source_url is given without a source"),
        ("libraries: boost\n", "libraries is not supported"),
        ("limits: {validation_passes: 3}\n", "only for multi-pass problems"),
    ],
)
def test_wrong_metadata_is_only_warned_of(
    packages: PackageBuilder, yaml: str, told: str
) -> None:
    assert any(told in warning for warning in packages.legacy(yaml=yaml).warnings)


# ---- beside problem.yaml ----


@pytest.mark.parametrize(
    ("files", "time_ms"),
    [
        ({".timelimit": "2.5\n"}, 2500),
        ({"domjudge-problem.ini": "timelimit = '3'\ncolor=#ff0000\n"}, 3000),
        ({"domjudge-problem.ini": 'timelimit="1.5" ; seconds\n'}, 1500),
        ({"problem.yaml": "limits: {time_limit: 4}\n"}, 4000),
        ({"problem.yaml": "limits: {time_limit: 4}\n", ".timelimit": "9"}, 4000),
        ({".timelimit": "9", "domjudge-problem.ini": "timelimit=3"}, 9000),
        ({}, None),
    ],
)
def test_a_time_limit_may_be_in_several_files(
    packages: PackageBuilder, files: dict[str, str], time_ms: int | None
) -> None:
    assert packages.legacy(files).limits.time_ms == time_ms


def test_time_limits_that_differ_are_warned_of(packages: PackageBuilder) -> None:
    problem = packages.legacy({".timelimit": "9", "domjudge-problem.ini": "timelimit=3"})
    expected = "domjudge-problem.ini: the time limit of 3 s is not that of .timelimit, 9 s"
    assert any(expected in warning for warning in problem.warnings)


@pytest.mark.parametrize(
    ("files", "told"),
    [
        ({".timelimit": "soon"}, ".timelimit must be a number of seconds, not 'soon'"),
        ({".timelimit": "inf"}, ".timelimit must be a number of seconds"),
        (
            {"domjudge-problem.ini": "timelimit = -1"},
            "domjudge-problem.ini: the key 'timelimit' must be a number of seconds, not '-1'",
        ),
    ],
)
def test_an_invalid_time_limit_is_refused(
    packages: PackageBuilder, refusal: Refusal, files: dict[str, str], told: str
) -> None:
    assert told in refusal(packages.legacy, files)


def test_a_domjudge_package_needs_no_problem_yaml(packages: PackageBuilder) -> None:
    problem = packages.legacy(
        {
            "problem.yaml": None,
            "problem_statement/problem.en.tex": None,
            "problem.pdf": b"%PDF-1.4",
            "domjudge-problem.ini": "name = 'Big sum'\ntimelimit = 2\nspecial_run=x\nodd=1\n",
        }
    )
    assert problem.names == {"en": "Big sum"}
    assert [(each.path, each.kind) for each in problem.statements] == [("problem.pdf", "pdf")]
    assert any("special_run names a program of DOMjudge" in each for each in problem.warnings)
    assert any("the key 'odd' is not known" in each for each in problem.warnings)


def test_a_directory_without_either_file_is_refused(
    packages: PackageBuilder, refusal: Refusal
) -> None:
    said = refusal(packages.legacy, {"problem.yaml": None})
    assert said == "There is no problem.yaml: this is not a problem package."


@pytest.mark.parametrize(
    ("yaml", "tolerance"),
    [
        ("validator_args: float_tolerance 1e-3\n", 1e-3),
        ("validator_flags: float_tolerance 1e-6\nvalidator_args: float_tolerance 1\n", 1e-6),
    ],
)
def test_domjudge_has_another_name_for_validator_flags(
    packages: PackageBuilder, yaml: str, tolerance: float
) -> None:
    checker = packages.legacy(yaml=yaml).checker
    assert isinstance(checker, Comparison)
    assert (checker.absolute, checker.relative) == (tolerance, tolerance)
