"""Reads a DMOJ package into a `Problem`, after preparing its files once."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from deemster.domain.errors import Refused
from deemster.domain.limits import MIB
from deemster.domain.problem import Problem, ProblemLimits, Statement
from deemster.problems.archive import Bounds, unpack_inner
from deemster.problems.formats.dmoj.cases import CaseReader
from deemster.problems.formats.dmoj.checkers import (
    NATIVE,
    Bridged,
    name_and_args,
    read_checker,
    read_interactor,
)
from deemster.problems.formats.dmoj.init_file import (
    ARCHIVE,
    EMPTY,
    FILE,
    OUTPUT_BYTES,
    InitFile,
    find_file,
    ignored_keys,
    read_init,
    refused,
)
from deemster.problems.formats.dmoj.submissions import TestSubmissions, read_test_submissions
from deemster.problems.formats.line_endings import all_to_unix

TIME_MS = 2_000
MEMORY_BYTES = 256 * MIB
VALIDATION_MS = 20_000
"""DMOJ's default for checkers."""
STATEMENTS = ("statement.md", "problem.md", "description.md", "statement.pdf", "problem.pdf")

PROGRAMS = Path(__file__).parent / "native"


def read_package(root: Path) -> Problem:
    init = read_init(root)
    tests = make_reader(root, init).read()
    found = read_test_submissions(root, tests)
    io = init.file_io
    return Problem(
        slug=root.name,
        format="dmoj",
        names={"en": root.name},
        tests=tests,
        limits=read_limits(init, found),
        checker=read_checker(root, init.checker, "checker"),
        interactor=read_interactor(root, init.interactive) if init.interactive else None,
        scoring=True,
        input_file=file_name(io.input, "input") if io else "",
        output_file=file_name(io.output, "output") if io else "",
        submissions=found.submissions,
        statements=tuple(read_statements(root)),
        warnings=tuple(read_warnings(root, init, found)),
    )


def make_reader(root: Path, init: InitFile) -> CaseReader:
    checker = read_checker(root, init.checker, "checker")
    return CaseReader(root, init, checker, has_interactor=init.interactive is not None)


def read_limits(init: InitFile, found: TestSubmissions) -> ProblemLimits:
    """DMOJ has the limits in its database; those of the test submissions replace them."""
    name, args = name_and_args(init.checker, "checker")
    given = Bridged(**args) if name == "bridged" else None
    time_s = given.time_limit if given else None
    memory_kb = given.memory_limit if given else None
    if init.interactive is not None:
        memory_kb = init.interactive.memory_limit
    return ProblemLimits(
        time_ms=round((init.time_limit or found.time_s or TIME_MS / 1000) * 1000),
        memory_bytes=(init.memory_limit or found.memory_kb or MEMORY_BYTES // 1024) * 1024,
        output_bytes=init.output_limit_length or OUTPUT_BYTES,
        validation_ms=VALIDATION_MS if time_s is None else round(time_s * 1000),
        validation_memory_bytes=(
            ProblemLimits().validation_memory_bytes if memory_kb is None else memory_kb * 1024
        ),
        validation_output_bytes=OUTPUT_BYTES,
    )


def file_name(name: str, key: str) -> str:
    if name and not re.fullmatch(r"\w[\w.-]{0,63}", name):
        raise refused(f"file_io.{key}", f"is {name[:60]!r}, which is not a plain name.")
    return name


def read_statements(root: Path) -> Iterator[Statement]:
    for name in STATEMENTS:
        if (root / name).is_file():
            kind = "pdf" if name.endswith(".pdf") else "md"
            yield Statement("en", "pdf" if kind == "pdf" else "md", name, root.name)


def read_warnings(root: Path, init: InitFile, found: TestSubmissions) -> Iterator[str]:
    if found.time_s is None and init.time_limit is None:
        yield (
            f"{FILE} has no limits, which DMOJ keeps elsewhere: {TIME_MS / 1000:g} s and "
            f"{MEMORY_BYTES // MIB} MB are assumed."
        )
    ignored = ignored_keys(root)
    if ignored:
        yield f"{FILE}: these keys have no effect here: {', '.join(ignored)}."
    if found.ignored_keys:
        yield (
            "tests/*/test.yml: these keys are not compared with the results: "
            f"{', '.join(found.ignored_keys)}."
        )
    if init.unbuffered:
        yield f"{FILE}: 'unbuffered' is ignored: programs must flush what they write."
    if init.short_circuit:
        yield f"{FILE}: 'short_circuit' is ignored: it belongs to a submission."
    if init.interactive is not None and init.checker is not None:
        yield f"{FILE}: 'checker' is ignored, since the interactor decides."


# ---- preparation ----


def prepare(root: Path, bounds: Bounds) -> None:
    """Changes a newly unpacked package once, so that all its data are files."""
    init = read_init(root)
    if init.archive is not None:
        unpack_archive(root, init.archive, bounds)
    (root / EMPTY).touch()
    (root / EMPTY).chmod(0o644)
    add_programs(root)
    convert_line_endings(root, init)


def unpack_archive(root: Path, name: str, bounds: Bounds) -> None:
    """Removes the archive afterwards, because its files are there."""
    target = root / ARCHIVE
    if target.is_dir() and not (root / name).exists():
        return
    path = root / find_file(root, name, "archive")
    if target.exists():
        raise Refused(f"The package has a file {ARCHIVE}, which is reserved: rename it.")
    target.mkdir()
    target.chmod(0o755)
    unpack_inner(path, target, bounds)
    path.unlink()


def add_programs(root: Path) -> None:
    target = root / NATIVE
    target.mkdir(exist_ok=True)
    target.chmod(0o755)
    for program in sorted(PROGRAMS.glob("[!_]*.py")):
        shutil.copyfile(program, target / program.name)


def convert_line_endings(root: Path, init: InitFile) -> None:
    """As DMOJ's judge does, except for binary data."""
    reader = make_reader(root, init)
    cases = list(reader.read().cases())
    paths = {path for case in cases for path in (case.input, case.answer)}
    for path in paths - reader.binary_paths - {"", EMPTY}:
        all_to_unix(root / path)
