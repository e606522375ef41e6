"""A problem as the judge knows it, whatever format its package came in.

All paths are relative to the revision's directory, with `/` between their parts.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

from deemster.domain.expectation import Expectation
from deemster.domain.limits import MIB


@dataclass(frozen=True, slots=True)
class Program:
    """A jury program: validator, checker, interactor, grader, generator."""

    name: str
    path: str
    """A source file, or a directory with all of its files."""
    language: str | None = None
    """Any name of a language; None: by the endings of its files."""
    resources: tuple[str, ...] = ()
    """Files of the package that are put beside it (testlib.h)."""
    scripted: bool = False
    """A directory with its own `build` or `run` script."""
    args: tuple[str, ...] = ()
    """Before the arguments of the case."""


class ProtocolName(StrEnum):
    """How a jury program is called and answers: see `pipeline/judge/jury/protocols.py`."""

    ICPC = "icpc"
    TESTLIB = "testlib"
    SYZOJ = "syzoj"
    HUSTOJ = "hustoj"
    LEMON = "lemon"
    QDUOJ = "qduoj"
    DMOJ = "dmoj"
    """A checker gets input, output, answer; an interactor input, answer. 0 right, 1 wrong."""
    DMOJ_COCI = "dmoj-coci"
    DMOJ_PEG = "dmoj-peg"


class Compare(StrEnum):
    TOKENS = "tokens"
    """Words apart by any white space."""
    LINES = "lines"
    """Trailing white space and blank lines at the end are ignored, and so is CR before LF."""
    EXACT = "exact"
    SORTED_LINES = "sorted-lines"
    SORTED_TOKENS = "sorted-tokens"


@dataclass(frozen=True, slots=True)
class Comparison:
    """Compares with the expected output, without any program of the jury (J4)."""

    mode: Compare = Compare.LINES
    case_sensitive: bool = True
    space_sensitive: bool = False
    """With tokens: the white space between them must be the same too."""
    absolute: float | None = None
    relative: float | None = None
    """Tolerances for numbers; either suffices. None: numbers are words like others."""
    integers_exact: bool = False
    """The tolerance is for numbers that are written with a point or an exponent."""


class PointsUnit(StrEnum):
    """What a number means that a checker gives as points."""

    POINTS = "points"
    PERCENT = "percent"
    """Of what the case is worth."""
    SHARE_OR_PERCENT = "share-or-percent"
    """Up to 1 a share of what the case is worth, beyond that percent: Hydro."""


@dataclass(frozen=True, slots=True)
class ProgramCheck:
    """Programs of the jury that must all accept."""

    programs: tuple[Program, ...]
    protocol: ProtocolName
    points_unit: PointsUnit = PointsUnit.POINTS


Checker = Comparison | ProgramCheck


@dataclass(frozen=True, slots=True)
class InputValidator:
    program: Program
    protocol: ProtocolName
    """ICPC: 42 is valid. TESTLIB: 0 is valid."""


@dataclass(frozen=True, slots=True)
class ValidatorArgs:
    """For all input validators, or by the name of each."""

    everyone: tuple[str, ...] = ()
    named: Mapping[str, tuple[str, ...]] | None = None

    def of(self, name: str) -> tuple[str, ...]:
        return self.everyone if self.named is None else self.named.get(name, ())


@dataclass(frozen=True, slots=True)
class SampleFiles:
    """What a statement shows of a sample: paths, or nothing."""

    input: str = ""
    output: str = ""
    interaction: str = ""


@dataclass(frozen=True, slots=True)
class Case:
    name: str
    """Unique in the problem: `secret/group1/01`."""
    input: str
    """Empty: nothing to read."""
    answer: str
    """Empty: there is none."""
    is_sample: bool = False
    full_feedback: bool = False
    """Input, expected and produced output may be shown to a contestant who failed it."""
    args: tuple[str, ...] = ()
    """Command line arguments of the contestant's program."""
    checker: Checker | None = None
    """Instead of the problem's."""
    checker_args: tuple[str, ...] = ()
    input_validator_args: ValidatorArgs = ValidatorArgs()
    files: Mapping[str, str] = field(default_factory=dict)
    """Put into the program's working directory: name there, path in the package."""
    points: float | None = None
    """Its share of a `sum` group; None: equal shares."""
    time_ms: int | None = None
    memory_bytes: int | None = None
    shown: SampleFiles = SampleFiles()
    download: SampleFiles = SampleFiles()
    """What may be taken home of it, like `shown`."""
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
    """A group with a score of its own: subtasks of 2025-09, Polygon, Hydro and DMOJ."""

    max_score: float | None
    """None: unbounded, what the checker gives."""
    aggregation: Aggregation = Aggregation.ALL_OR_NOTHING
    requires: tuple[str, ...] = ()
    """Groups before it, all cases of which must have been accepted; else it isn't run."""
    whole_score_only: bool = True
    """False: a checker may give a part of a case's score (`score.txt`, testlib points)."""


Grading = DefaultGrader | CustomGrader | Subtask


@dataclass(frozen=True, slots=True)
class StaticCheck:
    """A test of a group that looks at the source instead of running it."""

    score: float | None
    """None: pass-fail."""
    args: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Group:
    name: str
    """`` for the root, `sample`, `secret/group1`."""
    items: "tuple[Group | Case, ...]"
    """In the order of judging."""
    grading: Grading = DefaultGrader()
    stop_at_reject: bool = True
    """Goes no further in this group after an item that isn't accepted."""
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
        """Itself and all below it."""
        yield self
        for item in self.items:
            if isinstance(item, Group):
                yield from item.groups()


@dataclass(frozen=True, slots=True)
class ProblemLimits:
    time_ms: int | None = None
    """CPU time of a case. None: found from the package's own submissions (see `timing.py`)."""
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
    """Most passes of a multi-pass problem; 1: not one."""


@dataclass(frozen=True, slots=True)
class Statement:
    language: str
    kind: Literal["md", "tex", "pdf", "html", "txt"]
    path: str
    title: str


@dataclass(frozen=True, slots=True)
class ValidatorTest:
    """A test of the jury's own validators."""

    name: str
    kind: Literal["invalid_input", "valid_output", "invalid_output"]
    case: Case
    output: str = ""
    """What is handed to the output validator."""


@dataclass(frozen=True, slots=True)
class ExampleSubmission:
    """A submission that the package carries, and what its author expects of it."""

    path: str
    """A file or a directory."""
    label: str
    """The directory or tag that says what is expected."""
    expectation: Expectation
    language: str | None = None
    entry: str | None = None
    is_model: bool = False


@dataclass(frozen=True, slots=True)
class Problem:
    slug: str
    format: str
    """`legacy`, `legacy-icpc`, `2025-09`, `polygon`, `hydro`, `dmoj`."""
    names: Mapping[str, str]
    """By language code."""
    tests: Group
    limits: ProblemLimits = ProblemLimits()
    checker: Checker = Comparison()
    interactor: ProgramCheck | None = None
    """Talks to the program instead of the input; in the ICPC protocol it also decides."""
    scoring: bool = False
    objective: Literal["max", "min"] = "max"
    grader: Program | None = None
    static_validator: Program | None = None
    submit_answer: bool = False
    """The submission holds the outputs themselves."""
    input_file: str = ""
    output_file: str = ""
    """Names in the working directory, where a problem uses files instead of stdin, stdout."""
    languages: frozenset[str] | None = None
    """Names of those allowed; None: all."""
    includes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Directories with files added to every submission, by language name or `default`."""
    constants: Mapping[str, str] = field(default_factory=dict)
    """`{{name}}` in programs, included code and submissions stands for these."""
    input_validators: tuple[InputValidator, ...] = ()
    validator_tests: tuple[ValidatorTest, ...] = ()
    submissions: tuple[ExampleSubmission, ...] = ()
    statements: tuple[Statement, ...] = ()
    attachments: tuple[str, ...] = ()
    samples: tuple[SampleFiles, ...] = ()
    """What statements show beside the sample cases: interactions that nothing is judged by."""
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
    """What a reader noticed that is no error: ignored files, validators that can't be run."""
