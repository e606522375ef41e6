"""A problem as the judge sees it, independent of its package's format.

All paths are relative to the revision's directory, with `/` between their parts.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

from deemster.domain.expectation import Expectation
from deemster.domain.limits import MIB

CONSTANT = re.compile(r"\{\{([a-zA-Z_][a-zA-Z0-9_]*(?:\.[a-zA-Z_][a-zA-Z0-9_]*)?)\}\}")


@dataclass(frozen=True, slots=True)
class JuryProgram:
    """A jury program: validator, checker, interactor, grader, generator."""

    name: str
    path: str
    """A source file, or a directory with several."""
    language: str | None = None
    """Id or alias of a language; None: the file extensions decide."""
    resources: tuple[str, ...] = ()
    """Files of the package that are compiled with it (testlib.h)."""
    scripted: bool = False
    """A directory with its own `build` or `run` script."""
    args: tuple[str, ...] = ()
    """Arguments that precede those of the case."""


class ProtocolName(StrEnum):
    """How a jury program is called and answers: see `pipeline/judge/jury/protocols.py`."""

    ICPC = "icpc"
    TESTLIB = "testlib"
    SYZOJ = "syzoj"
    HUSTOJ = "hustoj"
    LEMON = "lemon"
    QDUOJ = "qduoj"
    DMOJ = "dmoj"
    """Checkers get input, output, answer; interactors input, answer. 0: right, 1: wrong."""
    DMOJ_COCI = "dmoj-coci"
    DMOJ_PEG = "dmoj-peg"
    HENG = "heng"
    """Called as testlib does; what the program prints must begin with AC or OK to accept."""


class Compare(StrEnum):
    TOKENS = "tokens"
    """Words, separated by any white space."""
    LINES = "lines"
    """Ignores trailing white space, blank lines at the end, and CR before LF."""
    EXACT = "exact"
    SORTED_LINES = "sorted-lines"
    SORTED_TOKENS = "sorted-tokens"


@dataclass(frozen=True, slots=True)
class Comparison:
    """Built-in comparison with the expected output (J4)."""

    mode: Compare = Compare.LINES
    case_sensitive: bool = True
    space_sensitive: bool = False
    """With tokens: the white space between them must be equal too."""
    absolute: float | None = None
    relative: float | None = None
    """Tolerances for numbers; one suffices. Both None: numbers are compared as words."""
    integers_exact: bool = False
    """Only numbers written with a point or an exponent get a tolerance."""


class PointsUnit(StrEnum):
    """The unit of the points that a checker gives."""

    POINTS = "points"
    PERCENT = "percent"
    """Percent of the case's points."""
    SHARE_OR_PERCENT = "share-or-percent"
    """Up to 1 a share of the case's points, above 1 percent of them (Hydro)."""


@dataclass(frozen=True, slots=True)
class ProgramCheck:
    """Jury programs, all of which must accept."""

    programs: tuple[JuryProgram, ...]
    protocol: ProtocolName
    points_unit: PointsUnit = PointsUnit.POINTS


Checker = Comparison | ProgramCheck


@dataclass(frozen=True, slots=True)
class InputValidator:
    program: JuryProgram
    protocol: ProtocolName
    """Exit code for valid input: 42 with ICPC, 0 with TESTLIB."""


@dataclass(frozen=True, slots=True)
class ValidatorArgs:
    """Arguments for all input validators, or for each by its name."""

    shared: tuple[str, ...] = ()
    by_name: Mapping[str, tuple[str, ...]] | None = None

    def of(self, name: str) -> tuple[str, ...]:
        return self.shared if self.by_name is None else self.by_name.get(name, ())


@dataclass(frozen=True, slots=True)
class SampleFiles:
    """Paths of the files of a sample; an empty path: there is no such file."""

    input: str = ""
    output: str = ""
    interaction: str = ""


@dataclass(frozen=True, slots=True)
class Case:
    name: str
    """Unique in the problem: `secret/group1/01`."""
    input: str
    """Path; empty: the program gets no input."""
    answer: str
    """Path; empty: there is no answer file."""
    is_sample: bool = False
    full_feedback: bool = False
    """A contestant whose program failed the case may see its input and both outputs."""
    args: tuple[str, ...] = ()
    """Command-line arguments of the contestant's program."""
    checker: Checker | None = None
    """Replaces the problem's checker."""
    checker_args: tuple[str, ...] = ()
    input_validator_args: ValidatorArgs = ValidatorArgs()
    files: Mapping[str, str] = field(default_factory=dict)
    """Files for the program's working directory: path in the package by name."""
    points: float | None = None
    """Points in a `sum` group; None: all cases have equal points."""
    time_ms: int | None = None
    memory_bytes: int | None = None
    shown: SampleFiles = SampleFiles()
    """Files that the statement shows."""
    download: SampleFiles = SampleFiles()
    """Files that contestants may download."""
    hint: str = ""
    description: str = ""


class Aggregation(StrEnum):
    ALL_OR_NOTHING = "pass-fail"
    SUM = "sum"
    MIN = "min"
    MAX = "max"
    AVERAGE = "avg"


@dataclass(frozen=True, slots=True)
class DefaultGrader:
    """The default grader of the legacy ICPC/Kattis format."""

    verdict: Literal["worst_error", "first_error", "always_accept"] = "worst_error"
    score: Aggregation = Aggregation.SUM
    ignore_sample: bool = False
    accept_if_any: bool = False


@dataclass(frozen=True, slots=True)
class CustomGrader:
    flags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Subtask:
    """A group with its own score, in 2025-09, Polygon, Hydro and DMOJ packages."""

    max_score: float | None
    """None: unbounded, the checker gives the score."""
    aggregation: Aggregation = Aggregation.ALL_OR_NOTHING
    requires: tuple[str, ...] = ()
    """Earlier groups; this group is run only if all of their cases were accepted."""
    whole_score_only: bool = True
    """False: the checker may give part of a case's points (`score.txt`, testlib points)."""


Grading = DefaultGrader | CustomGrader | Subtask


@dataclass(frozen=True, slots=True)
class StaticCheck:
    """A test of a group that examines the source instead of running the program."""

    score: float | None
    """None: pass-fail."""
    args: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Group:
    name: str
    """Empty for the root, else like `sample` or `secret/group1`."""
    items: "tuple[Group | Case, ...]"
    """In judging order."""
    grading: Grading = DefaultGrader()
    stop_at_reject: bool = True
    """Judging of the group ends at the first item that is not accepted."""
    accept_score: float = 1.0
    reject_score: float = 0.0
    lowest: float = float("-inf")
    highest: float = float("inf")
    static: StaticCheck | None = None

    def cases(self) -> Iterator[Case]:
        for item in self.items:
            if isinstance(item, Group):
                yield from item.cases()
            else:
                yield item

    def groups(self) -> "Iterator[Group]":
        """This group and all groups in it."""
        yield self
        for item in self.items:
            if isinstance(item, Group):
                yield from item.groups()


@dataclass(frozen=True, slots=True)
class ProblemLimits:
    time_ms: int | None = None
    """CPU time of a case; None: inferred from the package's submissions (see `timing.py`)."""
    accepted_to_limit: float = 2.0
    limit_to_tle: float = 1.5
    resolution_ms: int = 1_000
    memory_bytes: int = 2048 * MIB
    output_bytes: int = 8 * MIB
    code_bytes: int = 128 * 1024
    compile_ms: int = 60_000
    compile_memory_bytes: int = 2048 * MIB
    validation_ms: int = 60_000
    validation_memory_bytes: int = 2048 * MIB
    validation_output_bytes: int = 8 * MIB
    passes: int = 1
    """Most passes of a multi-pass problem; 1: a normal problem."""


@dataclass(frozen=True, slots=True)
class Statement:
    language: str
    kind: Literal["md", "tex", "pdf", "html", "txt"]
    path: str
    title: str


@dataclass(frozen=True, slots=True)
class ValidatorTest:
    """A test of the package's own validators."""

    name: str
    kind: Literal["invalid_input", "valid_output", "invalid_output"]
    case: Case
    output: str = ""
    """Path of the output for the output validator."""


@dataclass(frozen=True, slots=True)
class ExampleSubmission:
    """A submission in the package and the result that its author expects."""

    path: str
    """A file or a directory."""
    label: str
    """Directory or tag that stands for the expected result."""
    expectation: Expectation
    language: str | None = None
    entry: str | None = None
    is_model: bool = False


@dataclass(frozen=True, slots=True)
class Problem:
    slug: str
    format: str
    """`legacy`, `legacy-icpc`, `2025-09`, `polygon`, `hydro`, `dmoj` or `heng`."""
    names: Mapping[str, str]
    """Titles by language code."""
    tests: Group
    limits: ProblemLimits = ProblemLimits()
    checker: Checker = Comparison()
    interactor: ProgramCheck | None = None
    """Exchanges data with the running program; in the ICPC protocol it is also the checker."""
    scoring: bool = False
    objective: Literal["max", "min"] = "max"
    grader: JuryProgram | None = None
    static_validator: JuryProgram | None = None
    submit_answer: bool = False
    """Contestants submit the outputs, not a program."""
    input_file: str = ""
    output_file: str = ""
    """Names of files in the working directory that replace stdin and stdout."""
    languages: frozenset[str] | None = None
    """Names of the allowed languages; None: all."""
    includes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Directories of files that are added to each submission, by language or `default`."""
    constants: Mapping[str, str] = field(default_factory=dict)
    """Values for `{{name}}` in programs, included code and submissions."""
    input_validators: tuple[InputValidator, ...] = ()
    validator_tests: tuple[ValidatorTest, ...] = ()
    submissions: tuple[ExampleSubmission, ...] = ()
    statements: tuple[Statement, ...] = ()
    attachments: tuple[str, ...] = ()
    samples: tuple[SampleFiles, ...] = ()
    """Samples that are not cases: example interactions for the statement."""
    keywords: tuple[str, ...] = ()
    credits: str = ""
    source: str = ""
    license: str = ""
    uuid: str = ""
    show_groups: bool = True
    """Whether contestants see the scores of groups."""
    allow_file_writing: bool = True
    """Whether programs may write into their working directory."""
    warnings: tuple[str, ...] = ()
    """Oddities that are not errors: ignored files, validators that can't be run."""


def fill_constants(text: str, constants: Mapping[str, str]) -> str:
    """Replaces `{{name}}` by its value; other names stay."""
    return CONSTANT.sub(lambda found: constants.get(found[1], found[0]), text)
