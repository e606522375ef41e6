"""Reads a Polygon package into a `Problem`, after preparing its files once."""

import os
import re
import shutil
from pathlib import Path

from deemster.domain.errors import Refused
from deemster.domain.limits import MIB
from deemster.domain.problem import Problem, ProblemLimits, Subtask
from deemster.problems.formats.line_endings import windows_to_unix
from deemster.problems.formats.polygon.document import Node, path_of, read_document
from deemster.problems.formats.polygon.programs import (
    INCLUDE,
    grader_files,
    read_checker,
    read_includes,
    read_interactor,
    read_validator_tests,
    read_validators,
    refuse_unsupported,
)
from deemster.problems.formats.polygon.solutions import NOT_RUN, read_solutions
from deemster.problems.formats.polygon.statements import (
    read_authors,
    read_names,
    read_statements,
)
from deemster.problems.formats.polygon.testset import main_testset, read_group, test_paths

OUTPUT_BYTES = 64 * MIB
STANDARD_STREAMS = frozenset({"", "stdin", "stdout", "standard input", "standard output"})
KNOWN = frozenset(
    {
        "names",
        "statements",
        "tutorials",
        "judging",
        "files",
        "assets",
        "properties",
        "stresses",
        "tags",
        "documents",
        "materials",
        "generators",
    }
)


def prepare(root: Path) -> None:
    """Changes a newly unpacked package once, so that it can be judged on Linux."""
    document = read_document(root)
    testset = main_testset(document)
    for path in test_paths(testset):
        # Packages for Windows have tests with CR LF.
        if (root / path).is_file():
            windows_to_unix(root / path)
    gather_graders(root, document)


def gather_graders(root: Path, document: Node) -> None:
    """Copies the files that are added to submissions into directories by language."""
    found = grader_files(root, document)
    if not found or (root / INCLUDE).exists():
        return
    for language, paths in found.items():
        place = root / INCLUDE / language
        place.mkdir(parents=True)
        for path in paths:
            target = place / os.path.basename(path)  # noqa: PTH119 - a path in the package
            if target.exists():
                raise Refused(f"{path}: two files of this name are added to submissions.")
            shutil.copyfile(root / path, target)


def read_package(root: Path) -> Problem:
    document = read_document(root)
    refuse_unsupported(document)
    names = read_names(root, document)
    tests = read_group(root, document)
    interactor = read_interactor(root, document)
    scoring = isinstance(tests.grading, Subtask)
    return Problem(
        slug=document.get("short-name") or root.name,
        format="polygon",
        names=names,
        tests=tests,
        limits=read_limits(main_testset(document)),
        checker=read_checker(root, document, interactor is not None),
        interactor=interactor,
        scoring=scoring,
        input_file=file_name(document, "input-file"),
        output_file=file_name(document, "output-file"),
        includes=read_includes(root, document),
        input_validators=tuple(read_validators(root, document)),
        validator_tests=tuple(read_validator_tests(root, document)),
        submissions=tuple(read_solutions(root, document, scoring=scoring)),
        statements=tuple(read_statements(root, document, names)),
        attachments=read_attachments(root, document),
        keywords=tuple(tag.get("value") for tag in document.children("tags/tag")),
        credits=read_authors(root),
        source=document.get("url"),
        warnings=read_warnings(document),
    )


def read_limits(testset: Node) -> ProblemLimits:
    return ProblemLimits(
        time_ms=testset.number("time-limit"),
        memory_bytes=testset.number("memory-limit"),
        output_bytes=OUTPUT_BYTES,
    )


def file_name(document: Node, attribute: str) -> str:
    judging = document.child("judging")
    name = judging.get(attribute) if judging is not None else ""
    if name.lower() in STANDARD_STREAMS:
        return ""
    if not re.fullmatch(r"\w[\w.-]{0,63}", name):
        raise document.refused(f"has the {attribute} {name[:60]!r}, which is not a plain name")
    return name


def read_attachments(root: Path, document: Node) -> tuple[str, ...]:
    nodes = [*document.children("files/attachments/file")]
    nodes += [
        node
        for node in document.children("materials/material")
        if "statement" in node.get("publish").lower()
    ]
    return tuple(path for path in map(path_of, nodes) if (root / path).is_file())


def read_warnings(document: Node) -> tuple[str, ...]:
    said = [
        f"problem.xml: <{element.tag}> is not known, and ignored."
        for element in document.element
        if element.tag not in KNOWN
    ]
    testset = main_testset(document)
    said += [
        f"problem.xml: the testset '{each.get('name')}' is ignored."
        for each in document.children("judging/testset")
        if each.get("name") != testset.get("name")
    ]
    said += [
        f"problem.xml: {node.text('source') or node.location} is tagged do-not-run: ignored."
        for node in document.children("assets/solutions/solution")
        if node.get("tag").lower().replace("_", "-") == NOT_RUN
    ]
    return tuple(said)
