"""Reads the checker, interactor, validators and graders of a Polygon package."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal

from deemster.domain.problem import (
    Case,
    Checker,
    Comparison,
    InputValidator,
    JuryProgram,
    PointsUnit,
    ProgramCheck,
    ProtocolName,
    ValidatorTest,
)
from deemster.problems.formats.polygon.document import (
    Node,
    existing_file,
    path_of,
    path_pattern,
)
from deemster.problems.formats.polygon.languages import program_language
from deemster.problems.formats.testlib_checkers import COMPARISONS

HEADERS = frozenset({".h", ".hh", ".hpp", ".hxx", ".inc", ".tpp"})
TESTLIB = "testlib.h"
INCLUDE = "_include"
"""Directory for files that are added to submissions, by language."""
REFUSED_ASSETS = {
    "scorer": "a scorer, which adds up points by a program of its own",
    "arbiter": "an arbiter, which compares submissions with each other",
    "strategy": "a strategy of its own for judging",
}


def refuse_unsupported(document: Node) -> None:
    for name, what in REFUSED_ASSETS.items():
        asset = document.child(f"assets/{name}")
        if asset is not None:
            raise asset.refused(f"has {what}, which is not supported")
    judging = document.child("judging")
    tags = [tag.get("value") for tag in document.children("tags/tag")]
    runs = judging.get("run-count", "1") if judging is not None else "1"
    if runs not in {"", "1"} or "run-twice" in tags:
        raise document.refused("is run twice on each test, which is not supported")


def read_checker(root: Path, document: Node, interactive: bool) -> Checker:
    node = document.child("assets/checker")
    if node is None or node.child("source") is None:
        if node is not None and (known := known_checker(node)) is not None:
            return known
        return Comparison()
    # The interactor's output goes to the checker, which must then be a program.
    if not interactive and node.get("name") in EQUIVALENT:
        return COMPARISONS[checker_name(node)]
    judging = document.child("judging")
    percent = judging is not None and judging.is_true("treat-points-from-checker-as-percent")
    return ProgramCheck(
        (read_program(root, document, node, "checker"),),
        ProtocolName.TESTLIB,
        PointsUnit.PERCENT if percent else PointsUnit.POINTS,
    )


EQUIVALENT = frozenset(
    f"std::{name}.cpp" for name in ("wcmp", "ncmp", "hcmp", "icmp", "yesno", "nyesno")
)
"""Standard checkers that accept exactly what the faster built-in comparison accepts."""


def known_checker(node: Node) -> Comparison | None:
    return COMPARISONS.get(checker_name(node))


def checker_name(node: Node) -> str:
    return node.get("name").removeprefix("std::").removesuffix(".cpp")


def read_interactor(root: Path, document: Node) -> ProgramCheck | None:
    node = document.child("assets/interactor")
    if node is None:
        return None
    if node.child("runs") is not None:
        raise node.refused("interacts with two runs of a program, which is not supported")
    return ProgramCheck(
        (read_program(root, document, node, "interactor"),), ProtocolName.TESTLIB
    )


def read_validators(root: Path, document: Node) -> Iterator[InputValidator]:
    for node in document.children("assets/validators/validator"):
        if node.child("source") is not None:
            yield InputValidator(
                read_program(root, document, node, "validator"), ProtocolName.TESTLIB
            )


def read_program(root: Path, document: Node, node: Node, asset: str) -> JuryProgram:
    sources = list(node.children("source"))
    if len(sources) != 1:
        raise node.refused(f"has {len(sources)} sources instead of one")
    path = existing_file(root, sources[0])
    return JuryProgram(
        name=asset,
        path=path,
        language=program_language(sources[0].get("type")),
        resources=tuple(resources_of(root, document, asset, path)),
    )


def resources_of(root: Path, document: Node, asset: str, own: str) -> Iterator[str]:
    """Headers and other files that a program is compiled with."""
    for node in document.children("files/resources/file"):
        named = {each.get("name").lower() for each in node.children("assets/asset")}
        path = path_of(node)
        is_header = node.get("type").startswith("h.") or Path(path).suffix in HEADERS
        if Path(path).name == TESTLIB and not (root / path).is_file():
            continue  # often missing in repositories; the judge adds its own
        if path != own and (asset in named or (not named and is_header)):
            yield existing_file(root, node)


# ---- code that is added to submissions ----


def grader_files(root: Path, document: Node) -> dict[str, list[str]]:
    """Files of the package that are compiled with every submission, by language."""
    found: dict[str, list[str]] = {}
    for node in document.children("files/resources/file"):
        named = {each.get("name").lower() for each in node.children("assets/asset")}
        if "solution" in named:
            for language in languages_of(node):
                found.setdefault(language, []).append(existing_file(root, node))
    return found


def languages_of(node: Node) -> list[str]:
    kinds = node.get("for-types") or node.get("for-type") or "*"
    names = [kind.strip().split(".")[0] for kind in kinds.replace(",", ";").split(";")]
    return ["default" if name in {"*", ""} else FAMILIES.get(name, name) for name in names]


FAMILIES = {"cpp": "cpp", "python": "python3", "pas": "pascal", "js": "javascript"}


def read_includes(root: Path, document: Node) -> Mapping[str, tuple[str, ...]]:
    return {name: (f"{INCLUDE}/{name}",) for name in grader_files(root, document)}


# ---- tests of the programs themselves ----


def read_validator_tests(root: Path, document: Node) -> Iterator[ValidatorTest]:
    checker = document.child("assets/checker/testset")
    if checker is not None:
        yield from checker_tests(root, checker)
    for number, testset in enumerate(document.children("assets/validators/validator/testset")):
        yield from input_validator_tests(root, testset, number + 1)


def checker_tests(root: Path, testset: Node) -> Iterator[ValidatorTest]:
    kinds: dict[str, Literal["valid_output", "invalid_output"]] = {
        "ok": "valid_output",
        "wrong-answer": "invalid_output",
        "presentation-error": "invalid_output",
    }
    for number, test in enumerate(testset.children("tests/test"), start=1):
        kind = kinds.get(test.get("verdict").lower())
        paths = [
            path_pattern(testset, f"{name}-path-pattern", "%d") % number
            for name in ("input", "output", "answer")
        ]
        if kind is not None and all((root / path).is_file() for path in paths):
            name = f"checker-test-{number:02}"
            case = Case(name, paths[0], paths[2])
            yield ValidatorTest(name, kind, case, output=paths[1])


def input_validator_tests(root: Path, testset: Node, validator: int) -> Iterator[ValidatorTest]:
    for number, test in enumerate(testset.children("tests/test"), start=1):
        path = path_pattern(testset, "input-path-pattern", "%d") % number
        if test.get("verdict").lower() == "invalid" and (root / path).is_file():
            name = f"validator-{validator}-test-{number:02}"
            yield ValidatorTest(name, "invalid_input", Case(name, path, ""))
