"""Reads a Hydro package into a `Problem`, after preparing its files once."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from deemster.domain.errors import Refused
from deemster.domain.expectation import Expectation
from deemster.domain.limits import MIB
from deemster.domain.problem import ExampleSubmission, Problem, ProblemLimits, Statement
from deemster.domain.verdict import Verdict
from deemster.problems.formats.hydro.config import (
    PROBLEM_FILE,
    TESTDATA,
    HydroConfig,
    ProblemYaml,
    find_file,
    read_config,
    read_problem_yaml,
    refused,
)
from deemster.problems.formats.hydro.programs import (
    read_checker,
    read_interactor,
    read_validators,
)
from deemster.problems.formats.hydro.subtasks import read_group

OUTPUT_BYTES = 64 * MIB
STATEMENT = re.compile(r"problem(?:_(?P<language>[A-Za-z]{2,3}(?:[_-]\w+)?))?\.md")
SOLUTION = re.compile(r"(std|solution|main)(_\w+)?\.(c|cc|cpp|cxx|py|java|pas|kt|go|rs)")
SOLUTION_DIRECTORIES = ("", f"{TESTDATA}/", "std/", "solution/", "solutions/")
FIRST_LANGUAGE = "zh"
"""The language of a `problem.md` without a language in its name."""


INCLUDE = "_include"


def prepare(root: Path) -> None:
    """Copies the files that are added to submissions into their own directory."""
    extra = read_config(root).user_extra_files
    if not extra:
        return
    target = root / INCLUDE
    target.mkdir(exist_ok=True)
    target.chmod(0o755)
    for name in extra:
        path = Path(find_file(root, name, "user_extra_files"))
        copy = target / path.name
        if copy.exists() and copy.read_bytes() != (root / path).read_bytes():
            raise Refused(f"{path}: two files of this name are added to submissions.")
        shutil.copyfile(root / path, copy)


def read_package(root: Path) -> Problem:
    config = read_config(root)
    info = read_problem_yaml(root)
    title = info.title or info.name or root.name
    return Problem(
        slug=info.pid or root.name,
        format="hydro",
        names={FIRST_LANGUAGE: title},
        tests=read_group(root, config),
        limits=ProblemLimits(
            time_ms=config.time, memory_bytes=config.memory, output_bytes=OUTPUT_BYTES
        ),
        checker=read_checker(root, config),
        interactor=read_interactor(root, config),
        scoring=True,
        submit_answer=config.type == "submit_answer",
        input_file=file_name(config, "in"),
        output_file=file_name(config, "out"),
        languages=None if config.langs is None else frozenset(config.langs),
        includes={"default": (INCLUDE,)} if config.user_extra_files else {},
        input_validators=read_validators(root, config),
        submissions=tuple(read_solutions(root)),
        statements=tuple(read_statements(root, title)),
        attachments=tuple(read_attachments(root)),
        keywords=tuple(read_keywords(info)),
        source=info.source,
        warnings=tuple(read_warnings(config, info)),
    )


def read_keywords(info: ProblemYaml) -> Iterator[str]:
    """Hydro's difficulty is a number from 1 to 10, as ours."""
    yield from info.tag
    if isinstance(info.difficulty, int) and info.difficulty > 0:
        yield f"level-{min(info.difficulty, 10)}"


def file_name(config: HydroConfig, ending: str) -> str:
    if not config.filename:
        return ""
    if not re.fullmatch(r"\w[\w.-]{0,59}", config.filename):
        raise refused("filename", f"is {config.filename[:60]!r}, which is not a plain name.")
    return f"{config.filename}.{ending}"


def read_statements(root: Path, title: str) -> Iterator[Statement]:
    for path in sorted(root.iterdir()):
        found = STATEMENT.fullmatch(path.name)
        if found and path.is_file():
            language = (found["language"] or FIRST_LANGUAGE).replace("_", "-")
            yield Statement(language, "md", path.name, title)


def read_solutions(root: Path) -> Iterator[ExampleSubmission]:
    expectation = Expectation((Verdict.ACCEPTED,), time_bound="lower")
    for place in SOLUTION_DIRECTORIES:
        for path in sorted((root / place).glob("*")):
            if SOLUTION.fullmatch(path.name) and path.is_file():
                name = f"{place}{path.name}"
                yield ExampleSubmission(name, "std", expectation, is_model=True)


def read_attachments(root: Path) -> Iterator[str]:
    for path in sorted((root / "additional_file").glob("*")):
        if path.is_file():
            yield f"additional_file/{path.name}"


def read_warnings(config: HydroConfig, info: ProblemYaml) -> Iterator[str]:
    file = f"{TESTDATA}/config.yaml"
    for key in ("time_limit_rate", "memory_limit_rate"):
        if any(rate != 1 for rate in getattr(config, key).values()):
            yield f"{file}: '{key}' is ignored: languages have their own extra limits."
    if config.checker is not None and config.checker_type in {"default", "strict"}:
        yield f"{file}: 'checker' is ignored: checker_type is {config.checker_type}."
    if info.content:
        yield f"{PROBLEM_FILE}: 'content' is ignored: put the statement into problem.md."
