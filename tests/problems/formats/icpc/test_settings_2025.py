"""problem.yaml of 2025-09 and of the drafts before it."""

from collections.abc import Callable

import pytest

from deemster.domain.problem import ProblemLimits
from tests.problems.formats.icpc.conftest import PackageBuilder

MIB = 1024 * 1024
Refusal = Callable[..., str]
VALIDATOR = {"output_validator/check.py": "import sys\nsys.exit(42)\n"}


def test_a_minimal_problem_yaml_has_all_defaults(packages: PackageBuilder) -> None:
    problem = packages.modern()
    assert problem.format == "2025-09"
    assert problem.names == {"en": "Sum"}
    assert problem.limits == ProblemLimits()
    assert problem.limits.passes == 1
    assert not problem.allow_file_writing
    assert problem.warnings == ()


def test_all_keys_are_read(packages: PackageBuilder) -> None:
    problem = packages.modern(
        {
            "problem.yaml": """
problem_format_version: 2025-09
type: [scoring, interactive, multi-pass]
name: {en: Sum, pt-BR: Soma}
uuid: 7594abe6-08e3-4743-8cf9-15c4693cdbf5
version: "3"
credits:
  authors: [Ann Author <ann@x.example>, {name: Bob, orcid: 0000-0001}]
  testers: Tim
  translators: {pt: Rui}
source:
  - {name: Finals, url: https://x.example}
  - Camp
license: cc0
rights_owner: Ann
embargo_until: 2026-01-01T10:00:00Z
limits:
  time_multipliers: {ac_to_time_limit: 3, time_limit_to_tle: 2.5}
  time_limit: 1.5
  time_resolution: 0.5
  memory: 256
  output: 4
  code: 64
  compilation_time: 30
  compilation_memory: 512
  validation_time: 20
  validation_memory: 128
  validation_output: 2
  validation_passes: 7
keywords: [easy, math]
languages: [cpp, python3]
allow_file_writing: true
constants: {n: 1000, eps: 0.5, word: "x y"}
""",
            "statement/problem.pt-BR.tex": "\\problemname{}\n",
            **VALIDATOR,
        }
    )
    assert problem.limits == ProblemLimits(
        time_ms=1500,
        accepted_to_limit=3,
        limit_to_tle=2.5,
        resolution_ms=500,
        memory_bytes=256 * MIB,
        output_bytes=4 * MIB,
        code_bytes=64 * 1024,
        compile_ms=30_000,
        compile_memory_bytes=512 * MIB,
        validation_ms=20_000,
        validation_memory_bytes=128 * MIB,
        validation_output_bytes=2 * MIB,
        passes=7,
    )
    assert problem.scoring
    assert problem.interactor is not None
    assert problem.names == {"en": "Sum", "pt-BR": "Soma"}
    assert problem.credits == "authors: Ann Author, Bob; testers: Tim; translators: Rui"
    assert problem.source == "Finals (https://x.example), Camp"
    assert problem.keywords == ("easy", "math")
    assert problem.languages == frozenset({"cpp", "python3"})
    assert problem.allow_file_writing
    assert problem.constants == {"n": "1000", "eps": "0.5", "word": "x y"}
    assert problem.warnings == ()


@pytest.mark.parametrize(
    ("yaml", "told"),
    [
        ("author: Ann\n", "the key 'author' is of older versions: use credits.authors"),
        ("validator_flags: x\n", "use output_validator_args in data/secret/test_group.yaml"),
        ("colour: red\n", "the key 'colour' is not known"),
        ("type: []\n", "the key 'type' is empty"),
        ("type: fun\n", "the key 'type' is 'fun'"),
        ("type: [scoring, scoring]\n", "the key 'type' names 'scoring' twice"),
        ("type: [scoring, pass-fail]\n", "the key 'type' can't be both pass-fail and scoring"),
        ("type: [submit-answer, interactive]\n", "can't be both submit-answer and interactive"),
        ("type: [submit-answer, multi-pass]\n", "can't be both submit-answer and multi-pass"),
        ("type: interactive\n", "the key 'type' needs an output validator"),
        ("type: multi-pass\n", "the key 'type' needs an output validator"),
        ("credits: {authors: [5]}\n", "the key 'credits.authors' must be a name"),
        ("credits: {authors: [{nick: x}]}\n", "the key 'credits.authors' has 'nick'"),
        ("credits: {authors: [{email: x}]}\n", "the key 'credits.authors' names nobody"),
        ("credits: {writers: Ann}\n", "the key 'credits.writers' is not known"),
        ("source: {url: x}\n", "the key 'source' must have a name"),
        ("source: 5\n", "the key 'source' must be text"),
        ("embargo_until: soon\n", "the key 'embargo_until' must be a day"),
        ("limits: {memory: '5'}\n", "the key 'limits.memory' should be a valid integer"),
        ("limits: {memory: 1.5}\n", "the key 'limits.memory' should be a valid integer"),
        ("limits: {time_limit: 0}\n", "the key 'limits.time_limit' should be greater than 0"),
        ("limits: {validation_passes: 1}\n", "the key 'limits.validation_passes' should be"),
        ("limits: {time_multiplier: 3}\n", "the key 'limits.time_multiplier' is not known"),
        (
            "limits: {time_multipliers: {ac_to_time_limit: 0.5}}\n",
            "the key 'limits.time_multipliers.ac_to_time_limit' should be greater than or",
        ),
        ("limits: {time_multipliers: 3}\n", "the key 'limits.time_multipliers' must be a map"),
        ("languages: []\n", "the key 'languages' is empty"),
        ("languages: [klingon]\n", "the key 'languages' has 'klingon'"),
        ("allow_file_writing: 'yes'\n", "the key 'allow_file_writing' should be a valid"),
        ("constants: [1]\n", "the key 'constants' must be a map"),
        ("constants: {a-b: 1}\n", "the key 'constants' has the name 'a-b'"),
        ("constants: {a: true}\n", "the key 'constants' gives a True"),
        ("constants: {a: {b: 1}}\n", "the key 'constants' gives a no value"),
        (f"constants: {{a: {'x' * 1001}}}\n", "gives a a text of 1,001 characters"),
        ("keywords: {a: b}\n", "the key 'keywords' should be a valid tuple"),
        ("uuid: x\n", "the key 'uuid' appears twice"),
    ],
)
def test_a_wrong_key_is_refused_by_file_and_name(
    packages: PackageBuilder, refusal: Refusal, yaml: str, told: str
) -> None:
    said = refusal(packages.modern, yaml=yaml)
    assert said.startswith("problem.yaml: ")
    assert told in said


@pytest.mark.parametrize(
    ("yaml", "told"),
    [
        ("uuid: x\n", "the key 'name' is missing"),
        ("name: X\n", "the key 'uuid' is missing"),
        ("name:\nuuid: x\n", "the key 'name' is missing"),
        ("name: 42\nuuid: x\n", "the key 'name' must be text, or a map"),
        ("name: {english: X}\nuuid: x\n", "the key 'name' has 'english'"),
        ("name: {en: 5}\nuuid: x\n", "the key 'name' has no text for en"),
    ],
)
def test_required_keys_are_asked_for(
    packages: PackageBuilder, refusal: Refusal, yaml: str, told: str
) -> None:
    text = f"problem_format_version: 2025-09\n{yaml}"
    assert told in refusal(packages.modern, {"problem.yaml": text})


@pytest.mark.parametrize(
    ("yaml", "told"),
    [
        ("license: mine\n", "the license 'mine' is not one of"),
        ("license: public domain\nrights_owner: Ann\n", "has no rights_owner"),
        ("limits: {validation_passes: 3}\n", "only for multi-pass problems"),
        ("type: pass-fail multi-pass\n", "several types belong in a list"),
    ],
)
def test_wrong_metadata_is_only_warned_of(
    packages: PackageBuilder, yaml: str, told: str
) -> None:
    assert any(told in each for each in packages.modern(VALIDATOR, yaml=yaml).warnings)


def test_contestants_may_submit_answers(packages: PackageBuilder) -> None:
    problem = packages.modern(
        {"submissions/accepted/answers.txt": "4\n"}, "type: submit-answer\n"
    )
    assert problem.submit_answer
    assert "submissions/accepted/answers.txt" in [each.path for each in problem.submissions]


def test_variants_of_a_constant_have_their_own_names(packages: PackageBuilder) -> None:
    problem = packages.modern(yaml="constants: {five: {value: 5, word: fünf}}\n")
    assert problem.constants == {"five": "5", "five.value": "5", "five.word": "fünf"}


# ---- drafts ----


@pytest.mark.parametrize("version", ["2023-07-draft", "2023-07"])
def test_a_draft_is_read_as_2025_09_with_a_warning(
    packages: PackageBuilder, version: str
) -> None:
    text = f"problem_format_version: {version}\nname: Sum\nauthor: Ann\nsource_url: x\n"
    problem = packages.modern({"problem.yaml": text})
    assert problem.format == "2025-09"
    assert problem.credits == "Ann"
    assert "problem.yaml: drafts are read as 2025-09: set problem_format_version so." in (
        problem.warnings
    )


def test_an_empty_source_is_allowed(packages: PackageBuilder) -> None:
    """As BAPCtools' template has it."""
    assert packages.modern(yaml="source:\n  name:\n  url:\n").source == ""


def test_a_draft_may_have_multipliers_of_the_legacy_format(packages: PackageBuilder) -> None:
    """As BAPCtools takes them; those of now win."""
    older = "  time_multiplier: 3\n  time_safety_margin: 4\n"
    limits = packages.draft(yaml=f"validation: default\nlimits:\n{older}").limits
    assert (limits.accepted_to_limit, limits.limit_to_tle) == (3, 4)
    newer = f"limits:\n{older}  time_multipliers: {{ac_to_time_limit: 5}}\n"
    limits = packages.draft(yaml=newer).limits
    assert (limits.accepted_to_limit, limits.limit_to_tle) == (5, 4)


def test_a_draft_has_flags_of_the_output_validator_in_problem_yaml(
    packages: PackageBuilder,
) -> None:
    problem = packages.draft(VALIDATOR, "validator_flags: --fast 'a b'\n")
    assert next(problem.tests.cases()).checker_args == ("--fast", "a b")


def test_a_draft_has_older_names_of_directories(packages: PackageBuilder) -> None:
    problem = packages.draft(
        {
            "statement/problem.en.md": None,
            "problem_statement/problem.en.tex": "\\problemname{Sum}\n",
            "output_validators/check/check.cc": "int main() {}\n",
        }
    )
    assert problem.statements[0].path == "problem_statement/problem.en.tex"
    assert "output_validators: this version calls it output_validator." in problem.warnings
