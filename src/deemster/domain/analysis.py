"""Static analysis: analysers, their rules, and what they found in a program."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NewType

from deemster.domain.boxed_tool import BoxedTool
from deemster.domain.language import LanguageId
from deemster.domain.limits import Limits

AnalyzerId = NewType("AnalyzerId", str)
RuleId = NewType("RuleId", str)


class Category(StrEnum):
    """What a rule is about; each category has a score."""

    CORRECTNESS = "correctness"
    STYLE = "style"
    COMPLEXITY = "complexity"
    SECURITY = "security"


class Level(StrEnum):
    """The words of SARIF."""

    ERROR = "error"
    """The program is wrong, or almost certainly wrong."""
    WARNING = "warning"
    """The program may be wrong, or is much harder to read than it has to be."""
    NOTE = "note"
    """A hint."""


@dataclass(frozen=True, slots=True)
class Measure:
    """A rule about a number that a tool measures for each function."""

    column: str
    """Column of the tool's table."""
    above: int
    """Larger numbers break the rule."""
    message: str
    """Template of the message, with columns of the table in braces."""


@dataclass(frozen=True, slots=True)
class Rule:
    id: RuleId
    title: str
    category: Category
    level: Level
    explanation: str
    """For learners: why this matters, and what to do."""
    measure: Measure | None = None
    always: bool = False
    """The tool has no option to turn it on, because it always reports it."""


@dataclass(frozen=True, slots=True)
class OutputForm:
    """Where a tool writes its findings, and how they are to be read."""

    format: str
    """Name of an adapter in `pipeline/analyze/formats`."""
    stream: str = "stdout"
    """`stdout`, `stderr`, or the name of a file in the scratch directory."""
    columns: str = "characters"
    """Unit of the tool's columns: `characters`, `bytes` or `utf16`."""
    rule_pattern: str = ""
    """Pattern whose group is the rule's id in the name that the tool prints; empty: all."""
    line_pattern: str = ""
    """Pattern of a finding, for the format `lines`."""
    table: tuple[str, ...] = ()
    """Names of the columns, for the format `table`."""
    names: Mapping[str, str] = field(default_factory=dict)
    """Other words for values in the table."""
    default_rule: str = ""
    """Rule of a finding for which the tool names none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Analyzer(BoxedTool):
    """The description of a tool, as `analyzers/*.toml` gives it."""

    id: AnalyzerId
    languages: Mapping[LanguageId, tuple[str, ...]]
    """Languages that the tool analyses, each with the arguments that it needs for it."""
    also_reads: frozenset[str]
    """Extensions of files that the tool needs besides the sources, such as headers."""
    packages: tuple[str, ...]
    """Debian packages of the tool."""
    rule_option: str
    """Argument that turns {rule} on, repeated for {rule_options}."""
    exit_codes: frozenset[int]
    """Exit codes of a successful run, with or without findings."""
    limits: Limits
    output: OutputForm
    suppressions: tuple[str, ...]
    """Words in comments by which a program would turn rules off."""
    files: Mapping[str, bytes]
    """Configuration of the tool, mounted at {data}."""
    rules: Mapping[RuleId, Rule]

    @property
    def selected_rules(self) -> tuple[RuleId, ...]:
        """The rules to name in the command."""
        return tuple(rule.id for rule in self.rules.values() if not rule.always)

    @property
    def categories(self) -> frozenset[Category]:
        return frozenset(rule.category for rule in self.rules.values())

    @property
    def installation(self) -> str:
        """Shell commands that install the tool."""
        commands = []
        if self.packages:
            commands.append(f"apt-get install {' '.join(self.packages)}")
        if self.wheels:
            commands.append("pip install 'deemster[analyzers]'")
        return " && ".join(commands)


@dataclass(frozen=True, slots=True, order=True)
class Region:
    """A part of a file. Lines and columns count from 1, columns in Unicode characters; the
    end is the place after the last character."""

    start_line: int
    start_column: int
    end_line: int
    end_column: int


@dataclass(frozen=True, slots=True)
class Edit:
    """Replaces a region by a text."""

    file: str
    region: Region
    text: str


@dataclass(frozen=True, slots=True)
class Finding:
    rule: RuleId
    file: str
    region: Region
    message: str
    fix: tuple[Edit, ...] = ()
    """Edits that remove the cause, if the tool offers them."""
    fix_text: str = ""


class ToolStatus(StrEnum):
    OK = "ok"
    MISSING = "missing"
    FAILED = "failed"
    """The tool was started, but its result can't be used."""


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What one analyser found in a program."""

    analyzer: Analyzer
    status: ToolStatus
    version: str = ""
    """Empty for a missing tool."""
    findings: tuple[Finding, ...] = ()
    remarks: tuple[str, ...] = ()
    """Why the tool is missing or failed, and what was left out of the findings."""
    from_cache: bool = False


@dataclass(frozen=True, slots=True)
class Analysis:
    language: LanguageId
    files: Mapping[str, bytes]
    """The files that were analysed."""
    results: tuple[ToolResult, ...]
    scores: Mapping[Category, int | None] = field(default_factory=dict)
    """0 to 100 for each category; None if no tool measured it."""

    def findings(self) -> Iterator[tuple[Rule, Finding]]:
        for result in self.results:
            for finding in result.findings:
                yield result.analyzer.rules[finding.rule], finding
