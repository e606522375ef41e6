"""Validators and graders of ICPC packages."""

from collections.abc import Callable

import pytest

from deemster.domain.problem import Compare, Comparison, JuryProgram, ProgramCheck, ProtocolName
from tests.problems.formats.icpc.conftest import PackageBuilder

Refusal = Callable[..., str]
CUSTOM = "validation: custom\n"


def programs(checker: object) -> tuple[JuryProgram, ...]:
    assert isinstance(checker, ProgramCheck)
    assert checker.protocol is ProtocolName.ICPC
    return checker.programs


def test_without_a_validator_tokens_are_compared(packages: PackageBuilder) -> None:
    expected = Comparison(Compare.TOKENS, case_sensitive=False)
    assert packages.legacy().checker == expected


def test_a_legacy_package_may_have_several_output_validators(packages: PackageBuilder) -> None:
    problem = packages.legacy(
        {
            "output_validators/a/check.cc": "",
            "output_validators/a/check.h": "",
            "output_validators/b.py": "",
            "output_validators/common.h": "",
            "output_validators/README.md": "",
            "output_validators/.cache/x.py": "",
            "output_validators/empty/notes.txt": "",
        },
        CUSTOM,
    )
    assert programs(problem.checker) == (
        JuryProgram("a", "output_validators/a"),
        JuryProgram(
            "b.py", "output_validators/b.py", resources=("output_validators/common.h",)
        ),
    )
    assert "output_validators: ignored empty: they contain no program." in problem.warnings


@pytest.mark.parametrize("script", ["build", "run"])
def test_a_program_with_a_script_is_scripted(packages: PackageBuilder, script: str) -> None:
    problem = packages.legacy({f"output_validators/own/{script}": "#!/bin/sh\n"}, CUSTOM)
    assert programs(problem.checker) == (
        JuryProgram("own", "output_validators/own", scripted=True),
    )


def test_scripts_may_be_in_the_validators_directory_itself(packages: PackageBuilder) -> None:
    files = {"output_validators/build": "", "output_validators/check.cpp": ""}
    assert programs(packages.legacy(files, CUSTOM).checker) == (
        JuryProgram("output_validators", "output_validators", scripted=True),
    )


def test_python_2_is_run_as_python_3_and_warned_of_in_legacy_packages(
    packages: PackageBuilder,
) -> None:
    files = {
        "output_validators/old.py": "#!/usr/bin/env python2\n",
        "output_validators/new.py": "#!/usr/bin/env python3\n",
        "output_validators/two/a.py": "#!/usr/bin/python2\n",
        "output_validators/two/b.py": "import a\n",
    }
    problem = packages.legacy(files, CUSTOM)
    assert {each.language for each in programs(problem.checker)} == {None}
    told = [each for each in problem.warnings if "Python 2" in each]
    assert told == ["output_validators/old.py: is for Python 2, and is run with Python 3."]


def test_a_package_of_2025_has_one_output_validator(packages: PackageBuilder) -> None:
    problem = packages.modern({"output_validator/check.py": "#!/usr/bin/python2\n"})
    assert programs(problem.checker) == (
        JuryProgram("output_validator", "output_validator/check.py"),
    )


@pytest.mark.parametrize(
    ("files", "program"),
    [
        (
            {"output_validator/main.cc": "", "output_validator/main.h": ""},
            JuryProgram("output_validator", "output_validator"),
        ),
        (
            {"output_validator/deep/main.cc": "", "output_validator/deep/main.h": ""},
            JuryProgram("deep", "output_validator/deep"),
        ),
        (
            {"output_validator/build": "", "output_validator/main.zig": ""},
            JuryProgram("output_validator", "output_validator", scripted=True),
        ),
        (
            {"output_validators/a/main.cc": "", "output_validators/a/x.h": ""},
            JuryProgram("a", "output_validators/a"),
        ),
    ],
)
def test_a_program_is_the_directory_or_its_only_subdirectory(
    packages: PackageBuilder, files: dict[str, str], program: JuryProgram
) -> None:
    assert programs(packages.modern(files).checker) == (program,)


@pytest.mark.parametrize(
    ("files", "told"),
    [
        (
            {"output_validator/a/x.py": "", "output_validator/b/x.py": ""},
            "output_validator: expected one program, found 2",
        ),
        ({"output_validator/notes.txt": ""}, "output_validator: there is no program in it"),
        (
            {"static_validator/a/x.py": "", "static_validator/b/x.py": ""},
            "static_validator: expected one program",
        ),
    ],
)
def test_more_or_less_than_one_program_is_refused(
    packages: PackageBuilder, refusal: Refusal, files: dict[str, str], told: str
) -> None:
    assert told in refusal(packages.modern, files)


@pytest.mark.parametrize("how", ["custom", "custom interactive", "custom multi-pass"])
def test_a_missing_custom_validator_is_refused(
    packages: PackageBuilder, refusal: Refusal, how: str
) -> None:
    said = refusal(packages.legacy, yaml=f"validation: {how}\n")
    assert "problem.yaml: the key 'validation' needs an output validator" in said


def test_a_validator_without_custom_validation_is_ignored_with_a_warning(
    packages: PackageBuilder,
) -> None:
    problem = packages.legacy({"output_validators/check.py": ""})
    assert isinstance(problem.checker, Comparison)
    assert any("because problem.yaml says 'validation: default'" in w for w in problem.warnings)


def test_an_interactive_validator_is_interactor_and_checker(packages: PackageBuilder) -> None:
    problem = packages.legacy(
        {"output_validators/talk.py": ""}, "validation: custom interactive\n"
    )
    assert problem.interactor == ProgramCheck(
        (JuryProgram("talk.py", "output_validators/talk.py"),), ProtocolName.ICPC
    )
    assert isinstance(problem.checker, Comparison)


def test_an_interactive_problem_has_one_validator(
    packages: PackageBuilder, refusal: Refusal
) -> None:
    files = {"output_validators/a.py": "", "output_validators/b.py": ""}
    said = refusal(packages.legacy, files, yaml="validation: custom interactive\n")
    assert "an interactive problem has one validator" in said


def test_a_multi_pass_problem_has_a_limit_on_passes(packages: PackageBuilder) -> None:
    files = {"output_validator/check.py": ""}
    problem = packages.legacy(files, "validation: custom multi-pass\n")
    assert problem.limits.passes == 2
    assert "output_validator: this version calls it output_validators." in problem.warnings
    yaml = "validation: custom multi-pass\nlimits: {validation_passes: 26}\n"
    assert packages.legacy(files, yaml).limits.passes == 26


def test_domjudge_names_several_types_in_one_text(packages: PackageBuilder) -> None:
    problem = packages.legacy(
        {"output_validators/check.py": ""}, "type: pass-fail interactive multi-pass\n"
    )
    assert problem.interactor is not None
    assert problem.limits.passes == 2


def test_older_directories_and_grammars_of_input_validators_are_warned_of(
    packages: PackageBuilder,
) -> None:
    problem = packages.legacy(
        {
            "input_format_validators/old.py": "",
            "input_validators/grammar.ctd": "EOF",
            "input_validators/rules.viva": "",
        }
    )
    paths = [each.program.path for each in problem.input_validators]
    assert paths == ["input_validators/check.py", "input_format_validators/old.py"]
    assert all(each.protocol is ProtocolName.ICPC for each in problem.input_validators)
    assert any("ignored grammar.ctd, rules.viva" in each for each in problem.warnings)
    assert any("the name is outdated: call it input_validators" in w for w in problem.warnings)


def test_a_package_without_input_validators_is_warned_of(packages: PackageBuilder) -> None:
    problem = packages.legacy({"input_validators/check.py": None})
    assert "input_validators: there is no program that checks the inputs." in problem.warnings


def test_there_is_at_most_one_grader(packages: PackageBuilder, refusal: Refusal) -> None:
    files = {"graders/a.py": "", "graders/b.py": ""}
    assert "graders: expected one program" in refusal(packages.legacy, files)


def test_a_grader_without_scores_is_warned_of(packages: PackageBuilder) -> None:
    problem = packages.legacy({"graders/a.py": ""})
    assert "graders: only scoring problems use a grader." in problem.warnings


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ([], Comparison(Compare.TOKENS, case_sensitive=False)),
        (
            ["space_change_sensitive", "case_sensitive"],
            Comparison(Compare.TOKENS, case_sensitive=True, space_sensitive=True),
        ),
        (
            ["float_relative_tolerance", "1e-3"],
            Comparison(Compare.TOKENS, case_sensitive=False, relative=1e-3),
        ),
        (
            ["float_absolute_tolerance", "0", "float_relative_tolerance", "2"],
            Comparison(Compare.TOKENS, case_sensitive=False, absolute=0, relative=2),
        ),
        (
            ["float_tolerance", "1", "float_tolerance", "2"],
            Comparison(Compare.TOKENS, case_sensitive=False, absolute=2, relative=2),
        ),
    ],
)
def test_flags_of_the_default_validator(
    packages: PackageBuilder, flags: list[str], expected: Comparison
) -> None:
    assert packages.legacy(yaml=f"validator_flags: {' '.join(flags)}\n").checker == expected


def test_included_code_is_read_by_language(packages: PackageBuilder) -> None:
    problem = packages.modern(
        {
            "include/default/data.txt": "x",
            "include/cpp/lib/sum.h": "x",
            "include/klingon/x.kl": "x",
            "include/loose.h": "x",
            "include/java/.keep": "",
        }
    )
    assert problem.includes == {
        "cpp": ("include/cpp",),
        "default": ("include/default",),
        "klingon": ("include/klingon",),
    }
    assert "include/klingon: the format knows no language of that name." in problem.warnings
    assert "include/java: ignored, because it is empty." in problem.warnings
    assert any("include/loose.h: ignored" in each for each in problem.warnings)
