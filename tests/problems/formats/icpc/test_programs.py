"""Validators and graders: where they lie, what belongs to them, who runs them."""

from collections.abc import Callable

import pytest

from deemster.domain.problem import Compare, Comparison, Program, ProgramCheck, ProtocolName
from tests.problems.formats.icpc.conftest import Shop

Refusal = Callable[..., str]
CUSTOM = "validation: custom\n"


def programs(checker: object) -> tuple[Program, ...]:
    assert isinstance(checker, ProgramCheck)
    assert checker.protocol is ProtocolName.ICPC
    return checker.programs


def test_without_a_validator_words_are_compared(shop: Shop) -> None:
    expected = Comparison(Compare.TOKENS, case_sensitive=False)
    assert shop.legacy().checker == expected


def test_a_legacy_package_may_have_several_output_validators(shop: Shop) -> None:
    problem = shop.legacy(
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
        Program("a", "output_validators/a"),
        Program("b.py", "output_validators/b.py", resources=("output_validators/common.h",)),
    )
    assert "output_validators: ignored empty: they hold no program." in problem.warnings


@pytest.mark.parametrize("script", ["build", "run"])
def test_a_program_with_a_script_is_left_to_it(shop: Shop, script: str) -> None:
    problem = shop.legacy({f"output_validators/own/{script}": "#!/bin/sh\n"}, CUSTOM)
    assert programs(problem.checker) == (
        Program("own", "output_validators/own", scripted=True),
    )


def test_scripts_may_lie_in_the_directory_of_validators_itself(shop: Shop) -> None:
    files = {"output_validators/build": "", "output_validators/check.cpp": ""}
    assert programs(shop.legacy(files, CUSTOM).checker) == (
        Program("output_validators", "output_validators", scripted=True),
    )


def test_python_2_is_run_as_python_3_and_warned_of_in_legacy_packages(shop: Shop) -> None:
    files = {
        "output_validators/old.py": "#!/usr/bin/env python2\n",
        "output_validators/new.py": "#!/usr/bin/env python3\n",
        "output_validators/two/a.py": "#!/usr/bin/python2\n",
        "output_validators/two/b.py": "import a\n",
    }
    problem = shop.legacy(files, CUSTOM)
    assert {each.language for each in programs(problem.checker)} == {None}
    told = [each for each in problem.warnings if "Python 2" in each]
    assert told == ["output_validators/old.py: is for Python 2, and is run with Python 3."]


def test_a_package_of_2025_has_one_output_validator(shop: Shop) -> None:
    problem = shop.modern({"output_validator/check.py": "#!/usr/bin/python2\n"})
    assert programs(problem.checker) == (
        Program("output_validator", "output_validator/check.py"),
    )


@pytest.mark.parametrize(
    ("files", "program"),
    [
        (
            {"output_validator/main.cc": "", "output_validator/main.h": ""},
            Program("output_validator", "output_validator"),
        ),
        (
            {"output_validator/deep/main.cc": "", "output_validator/deep/main.h": ""},
            Program("deep", "output_validator/deep"),
        ),
        (
            {"output_validator/build": "", "output_validator/main.zig": ""},
            Program("output_validator", "output_validator", scripted=True),
        ),
        (
            {"output_validators/a/main.cc": "", "output_validators/a/x.h": ""},
            Program("a", "output_validators/a"),
        ),
    ],
)
def test_the_directory_is_the_program_or_holds_it(
    shop: Shop, files: dict[str, str], program: Program
) -> None:
    assert programs(shop.modern(files).checker) == (program,)


@pytest.mark.parametrize(
    ("files", "told"),
    [
        (
            {"output_validator/a/x.py": "", "output_validator/b/x.py": ""},
            "output_validator: there may be one program, and there are 2",
        ),
        ({"output_validator/notes.txt": ""}, "output_validator: there is no program in it"),
        (
            {"static_validator/a/x.py": "", "static_validator/b/x.py": ""},
            "static_validator: there may be one program",
        ),
    ],
)
def test_what_is_not_one_program_is_refused(
    shop: Shop, refusal: Refusal, files: dict[str, str], told: str
) -> None:
    assert told in refusal(shop.modern, files)


@pytest.mark.parametrize("how", ["custom", "custom interactive", "custom multi-pass"])
def test_a_validator_that_is_announced_must_be_there(
    shop: Shop, refusal: Refusal, how: str
) -> None:
    said = refusal(shop.legacy, yaml=f"validation: {how}\n")
    assert "problem.yaml: the key 'validation' needs an output validator" in said


def test_a_validator_that_isnt_announced_is_ignored_with_a_warning(shop: Shop) -> None:
    problem = shop.legacy({"output_validators/check.py": ""})
    assert isinstance(problem.checker, Comparison)
    assert any("because problem.yaml says 'validation: default'" in w for w in problem.warnings)


def test_an_interactive_validator_talks_and_decides(shop: Shop) -> None:
    problem = shop.legacy({"output_validators/talk.py": ""}, "validation: custom interactive\n")
    assert problem.interactor == ProgramCheck(
        (Program("talk.py", "output_validators/talk.py"),), ProtocolName.ICPC
    )
    assert isinstance(problem.checker, Comparison)


def test_an_interactive_problem_has_one_validator(shop: Shop, refusal: Refusal) -> None:
    files = {"output_validators/a.py": "", "output_validators/b.py": ""}
    said = refusal(shop.legacy, files, yaml="validation: custom interactive\n")
    assert "an interactive problem has one validator" in said


def test_a_problem_of_several_passes_has_a_bound_on_them(shop: Shop) -> None:
    files = {"output_validator/check.py": ""}
    problem = shop.legacy(files, "validation: custom multi-pass\n")
    assert problem.limits.passes == 2
    assert "output_validator: this version calls it output_validators." in problem.warnings
    yaml = "validation: custom multi-pass\nlimits: {validation_passes: 26}\n"
    assert shop.legacy(files, yaml).limits.passes == 26


def test_domjudge_names_several_types_in_one_text(shop: Shop) -> None:
    problem = shop.legacy(
        {"output_validators/check.py": ""}, "type: pass-fail interactive multi-pass\n"
    )
    assert problem.interactor is not None
    assert problem.limits.passes == 2


def test_input_validators_have_older_places_and_grammars(shop: Shop) -> None:
    problem = shop.legacy(
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


def test_a_package_without_input_validators_is_warned_of(shop: Shop) -> None:
    problem = shop.legacy({"input_validators/check.py": None})
    assert "input_validators: there is no program that checks the inputs." in problem.warnings


def test_there_is_at_most_one_grader(shop: Shop, refusal: Refusal) -> None:
    files = {"graders/a.py": "", "graders/b.py": ""}
    assert "graders: there may be one program" in refusal(shop.legacy, files)


def test_a_grader_without_scores_is_warned_of(shop: Shop) -> None:
    problem = shop.legacy({"graders/a.py": ""})
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
    shop: Shop, flags: list[str], expected: Comparison
) -> None:
    assert shop.legacy(yaml=f"validator_flags: {' '.join(flags)}\n").checker == expected


def test_included_code_is_known_by_its_language(shop: Shop) -> None:
    problem = shop.modern(
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
