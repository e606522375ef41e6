"""Puts together what `init.yml` says, and what DMOJ keeps elsewhere."""

import re
from collections.abc import Iterator
from pathlib import Path

from deemster.domain.limits import MIB
from deemster.domain.problem import Problem, ProblemLimits, Statement
from deemster.problems.formats.dmoj.cases import Reader
from deemster.problems.formats.dmoj.checkers import (
    Bridged,
    name_and_args,
    read_checker,
    read_interactor,
)
from deemster.problems.formats.dmoj.init_file import (
    FILE,
    OUTPUT_BYTES,
    InitFile,
    read_init,
    refused,
)
from deemster.problems.formats.dmoj.labels import Labelled, read_labelled

TIME_MS = 2_000
MEMORY_BYTES = 256 * MIB
VALIDATION_MS = 20_000
"""What DMOJ gives a checker that asks for no other."""
STATEMENTS = ("statement.md", "problem.md", "description.md", "statement.pdf", "problem.pdf")


def read_package(root: Path) -> Problem:
    init = read_init(root)
    tests = open_reader(root, init).read()
    labelled = read_labelled(root, tests)
    io = init.file_io
    return Problem(
        slug=root.name,
        format="dmoj",
        names={"en": root.name},
        tests=tests,
        limits=read_limits(init, labelled),
        checker=read_checker(root, init.checker, "checker"),
        interactor=read_interactor(root, init.interactive) if init.interactive else None,
        scoring=True,
        input_file=file_name(io.input, "input") if io else "",
        output_file=file_name(io.output, "output") if io else "",
        submissions=labelled.submissions,
        statements=tuple(read_statements(root)),
        warnings=tuple(read_warnings(init, labelled)),
    )


def open_reader(root: Path, init: InitFile) -> Reader:
    checker = read_checker(root, init.checker, "checker")
    return Reader(root, init, checker, has_interactor=init.interactive is not None)


def read_limits(init: InitFile, labelled: Labelled) -> ProblemLimits:
    """DMOJ keeps limits in its database; submissions that lie there tell what they need."""
    name, args = name_and_args(init.checker, "checker")
    given = Bridged(**args) if name == "bridged" else None
    time_s = given.time_limit if given else None
    memory_kb = given.memory_limit if given else None
    if init.interactive is not None:
        memory_kb = init.interactive.memory_limit
    return ProblemLimits(
        time_ms=round((init.time_limit or labelled.time_s or TIME_MS / 1000) * 1000),
        memory_bytes=(init.memory_limit or labelled.memory_kb or MEMORY_BYTES // 1024) * 1024,
        output_bytes=init.output_limit_length or OUTPUT_BYTES,
        validation_ms=VALIDATION_MS if time_s is None else round(time_s * 1000),
        validation_memory_bytes=(
            ProblemLimits().validation_memory_bytes if memory_kb is None else memory_kb * 1024
        ),
        validation_output_bytes=OUTPUT_BYTES,
    )


def file_name(name: str, key: str) -> str:
    if name and not re.fullmatch(r"\w[\w.-]{0,63}", name):
        raise refused(f"file_io.{key}", f"is {name[:60]!r}, which is no plain name.")
    return name


def read_statements(root: Path) -> Iterator[Statement]:
    for name in STATEMENTS:
        if (root / name).is_file():
            kind = "pdf" if name.endswith(".pdf") else "md"
            yield Statement("en", "pdf" if kind == "pdf" else "md", name, root.name)


def read_warnings(init: InitFile, labelled: Labelled) -> Iterator[str]:
    if labelled.time_s is None and init.time_limit is None:
        yield (
            f"{FILE} has no limits, which DMOJ keeps elsewhere: {TIME_MS / 1000:g} s and "
            f"{MEMORY_BYTES // MIB} MB are assumed."
        )
    if init.unbuffered:
        yield f"{FILE}: 'unbuffered' is ignored: programs must flush what they write."
    if init.short_circuit:
        yield f"{FILE}: 'short_circuit' is ignored: it belongs to a submission."
    if init.interactive is not None and init.checker is not None:
        yield f"{FILE}: 'checker' is ignored, since the interactor decides."
